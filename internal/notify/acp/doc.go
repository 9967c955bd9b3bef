// Package acp keeps headless workers: agents whose program speaks the Agent
// Client Protocol, version 1, over its standard input and output (docs/runtimes/acp.md).
//
// Invariants.
//
//   - One child per agent, whoever asks and however many keepers there are: the
//     roster's lock and record decide. Only what was started here is ended.
//   - Prompts never overlap. A prompt is our own words and validated fields; what
//     another process asks for is put into words here anew.
//   - Notified is said for a prompt after which a turn was seen to begin, once.
//     History that a loaded session replays is no such sign.
//   - A permission is refused unless it is for exactly one of the mail verbs, or
//     for a kind of tool that a person allowed. Every decision is in the agent's
//     log, which has no mail and nothing that the model said.
//   - Nothing that the child writes, or does not, stops the router or fills the
//     memory.
//
// When an agent is woken is the arbiter's to decide (package notify); here is
// said what can be done now.
package acp
