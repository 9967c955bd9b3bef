package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/office"
)

// Env is the world of one run, injected whole, so that a test depends on
// nothing that it did not set up.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// StdinTTY and StdoutTTY: a person sits there.
	StdinTTY, StdoutTTY bool
	// StdoutShut reports whether whoever started us gave no standard output; nil
	// is no. What is written there succeeds, and nobody has it.
	StdoutShut func() bool
	// Width is how many columns the terminal at Stdout has, 0 if unknown.
	Width int

	Getenv  func(string) string
	Environ []string // for programs that are started
	Dir     string   // the working directory, absolute
	System  office.System
	Procs   identity.ProcessTree // nil: the system cannot tell
	Live    identity.ProcessTree // of what the roster started; a test's own Procs are made up
	// Sleep waits, or returns ctx's error.
	Sleep func(ctx context.Context, d time.Duration) error
	// Patience is how long a change of the office waits for the lease.
	Patience time.Duration
	// Executable is the path of this program; Exec replaces it by another.
	Executable func() (string, error)
	Exec       func(path string, argv, env []string) error

	Globals
	Out *Output

	session struct { // asked for more than once, and it costs a look at the system
		key   string
		known bool
		above identity.ProcessTree
	}
	table Table
	cmd   Command
	name  string // "agent set"
}

// Now is the wall clock.
func (e *Env) Now() time.Time { return e.System.Now() }

// User is where this user's pointers to offices are kept.
func (e *Env) User() config.User { return config.UserFrom(e.Getenv) }

// SessionKey names the session this process belongs to, "" for none.
func (e *Env) SessionKey() string {
	if !e.session.known {
		e.session.key, e.session.known = identity.SessionKey(e.Getenv, e.above()), true
	}
	return e.session.key
}

// above is Procs as it was when this command began, for asking who started it.
func (e *Env) above() identity.ProcessTree {
	if e.session.above == nil && e.Procs != nil {
		e.session.above = identity.Remembered(e.Procs)
	}
	return e.session.above
}

// Warn tells a person what went less well than the result says.
func (e *Env) Warn(format string, args ...any) {
	fmt.Fprintln(e.Stderr, Line("post: "+fmt.Sprintf(format, args...)))
}
