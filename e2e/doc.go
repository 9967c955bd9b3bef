// Package e2e holds the whole-program scenarios: the real post and postd, built
// once for a run, in offices of their own, with an environment in which nothing
// but what a scenario sets decides (e2e/README.md).
//
// Invariants. A scenario trusts nothing that the programs say of themselves:
// what is on disk is read by a checker that shares no code with them. Nothing
// waits for time to pass where it can wait for what it wants to see. Every
// process that was started is stopped by its id.
//
// The scenarios are behind the build tag e2e; make e2e runs them.
package e2e
