// Package links is tests only: offices on several machines, each with a network
// of its own, and between them a switch that delays, loses and cuts
// (e2e/README.md). make e2e-links runs them.
//
// Invariants. What a scenario says of an office it reads from the disk, with no
// code of the programs. Nothing waits for time to pass where it can wait for
// what it wants to see; how long a fault lasts is the exception. Networks,
// mounts and processes belong to namespaces that end with the run, however it
// ends.
package links
