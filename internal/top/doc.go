// Package top is the floor in a terminal: who is there, what moves, what waits
// for a person and what is overdue, live; and a person decides there what waits
// (design §13, docs/top.md).
//
// Invariants. It only looks, but for decisions, which go through
// dispatch.Decide as `post answer` does: after a question, once, for what was
// shown. What comes from a message reaches the terminal only through line and
// text, and stands behind a bar that is ours, so that it can neither steer the
// terminal nor pass for what this program says. Model is pure: the office is
// asked by commands, and what they found comes back as a message. Nothing counts
// as read by being shown here.
package top
