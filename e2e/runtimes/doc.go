// Package runtimes holds the scenarios with the real coding CLIs: pinned
// versions from npm, a scrubbed environment, a model that is scripted by the
// test (e2e/stubmodel), and the real post and postd (e2e/README.md).
//
// Invariants. Nothing of the user's own settings, office or session comes in,
// and nothing leaves the machine: where the system allows it, everything runs
// in namespaces of its own with nothing but loopback, which end with the test
// and take every process with them. A scenario waits for what it wants to see
// (a request, a line on the screen, a file), never for time to pass.
//
// The scenarios are behind the build tag e2e; make e2e-runtimes runs them.
package runtimes
