// Package reach tells a person that something waits for them (design §13,
// docs/person.md): which approvals are due for a notice or a reminder, whether
// it is quiet now, and what is on record about it. How they are reached is
// notify's adapters', what waits is approval's.
//
// Invariants.
//
//   - One notice and, for what wants a decision, one reminder per approval,
//     whoever runs and whatever crashes: the attempt is on record, durably, before
//     it is made. One that a crash cut off counts as made, and is said to be in
//     doubt; only one that failed is tried again.
//   - What was decided or expired meanwhile is told of no more. That is looked at
//     after the attempt is on record, right before it is made.
//   - In quiet hours nothing is sent; afterwards all that waits is one notice.
//   - A notice holds our own words, agents' names and ids; a subject or body only
//     if the person's settings say so.
//   - Told is said only if an adapter said so. Failures are kept and shown.
//
// Nothing here takes the office's lease: run it after a pass.
package reach
