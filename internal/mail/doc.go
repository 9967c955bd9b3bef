// Package mail holds the words of Postroom as types: address, id, clock,
// message, receipt, error (design §1, §4, §5).
//
// It is pure: no file, no network, no clock of its own. It imports the
// standard library only, and everything else imports it.
package mail
