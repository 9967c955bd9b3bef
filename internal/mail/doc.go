// Package mail holds the words of Postroom as types: id, clock, address,
// message, receipt, index line, conversation, error; and the text that people
// and models are shown (design §1, §4, §5, §8, §10).
//
// It is pure: no file, no network, no clock of its own. It imports the
// standard library only, and everything else imports it.
//
// Invariants. What Encode writes, Parse reads, and encoding it again gives the
// same bytes. No string that ParseID or ParseName accepts leaves its directory
// when it is used as a file name. An id that a Clock gives is greater than each
// id it gave or merged before. A hand-written file is repaired only where its
// meaning is certain; whatever else is wrong with it is an error that says
// where and what to do. Text that went through Neutralise, CleanSubject or
// Fence can forge neither a line, a header nor a fence.
package mail
