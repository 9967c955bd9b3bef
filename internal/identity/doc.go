// Package identity answers three questions about a running command: which
// office, which agent, and is this a person (design §3, §11).
//
// Invariants. It never guesses: no answer or several are an error that lists
// the candidates and the next command to type. A session's binding comes before
// anything that a flag or the environment says, and they may not contradict it.
// Everything is decided from what is passed in.
//
// What it cannot do: a hostile process of the same user can scrub its
// environment and leave its parents. See docs/threat-model.md.
package identity
