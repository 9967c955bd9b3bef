// Package cli is the `post` command: one table of commands, one file per
// command (design §9).
//
// Invariants. A command gets everything it may look at through Env: it reads
// no environment, clock or directory of its own. Text that came from anybody
// else is neutralised before it is shown. A write to standard output that
// failed is a failed command, and what stands on the output is on its way
// before a receipt says so. The exit code follows from the error's kind alone
// (design §6). A person's command is refused inside an agent's session before
// it runs (design §11).
package cli
