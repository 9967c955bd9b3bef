// Package notify wakes recipients (design §6, §12). Mail is already durable
// in the inbox when anything here runs; what is decided here is only whether,
// when and how the recipient is told that it is there.
//
// An Adapter knows how to reach one kind of agent, or a person. For agents the
// Arbiter decides: it is the only caller of adapters. For people reach does.
//
// Invariants.
//
//   - A pointer carries our own words and validated fields: agent, ids, the
//     command to run. Never a subject, never a body; to a person only if their own
//     settings say so (Asked).
//   - Notified is reported only if an adapter said so for these very ids.
//   - At most one wake per agent is under way. Whoever finds one under way
//     leaves a mark, and the mark is looked at after the lock is released, so
//     no mail is missed.
//   - The attempt is on disk before it is made: a full disk or a crash makes
//     wakes rarer, never more frequent.
//   - The same mail is announced again only as the ladder in state.go allows.
//   - The state under wake/ is a hint. It is written whole but not synced; if
//     it is lost or torn the mail is announced once more, and that is said.
//
// Nothing here takes the office's lease, and no child inherits a lock.
package notify
