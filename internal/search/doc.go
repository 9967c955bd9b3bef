// Package search finds messages by words, names, acts, times and states, in an
// index of the whole office (design §13; docs/search.md).
//
// Invariants. The index is a cache: everything in it comes from the office's
// copies, its journal and its owners' receipts, and may be deleted at any time.
// It lives in the user's state directory, never in the office. What it says of
// its place in the journal and what it holds are one transaction, so a process
// that is killed leaves it right. A journal that is another one than it was, an
// index of another office or format, and one that SQLite calls corrupt are built
// anew, and the caller is told why. Hits are read from the office and compared
// with their digest: the index says where to look, the office what is there.
// Nothing of a query reaches SQL or the FTS5 syntax but as a bound value or a
// quoted string.
//
// It must never write into an office, nor show an agent what it neither sent nor
// received.
package search
