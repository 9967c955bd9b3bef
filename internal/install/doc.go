// Package install edits the settings of coding CLIs so that they call post:
// from the bytes that are there and what is wanted to the bytes that shall be
// there, and a list of what changed. It opens no file and starts no program;
// that, backups and the diff on the screen are the command line's.
//
// Invariants. Settings are edited in place, as text: what is not ours keeps its
// bytes, its order, its comments and its indentation. Doing it again changes
// nothing. Text that does not parse is refused with line and column and never
// repaired. Removing takes away what is recognised as ours, and a list or table
// around it only if the installation made it.
//
// It must never replace a file as a whole, and never allow an agent more than
// the mail verbs (design §12).
package install
