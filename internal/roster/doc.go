// Package roster starts and stops agents: each one's launch command, in its
// workspace, in a window of tmux or detached (design §11, docs/roster.md).
//
// Invariants. Only what was started here is ever stopped, and a pid alone is
// never believed: a process is its pid, its start and the boot. The started
// process writes its own record, under the agent's lock, so nothing of ours runs
// unrecorded, whenever whoever started it dies. One agent is started once,
// however many start it at the same time. No shell is involved. What is kept
// lies in the user's state directory, where a sandboxed agent can't name a
// process to be killed; it is of this machine and no mail, and losing it loses
// only the right to stop what runs.
package roster
