package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
)

const (
	// callMax is how long one call may take; the shortest limit that an
	// installed hook has is longer.
	callMax = 5 * time.Second
	// endMax is for the end of a session: Claude Code gives 1.5 s, with the start
	// of the shell and of this program.
	endMax = time.Second
	// stdinMax bounds what is read of a tool's output, in bytes.
	stdinMax = 64 << 20
	// turnMax is how long a turn is believed to run without a sign of it.
	turnMax = 15 * time.Minute
)

// Hook is the world of one call, injected whole.
type Hook struct {
	Runtime Runtime
	User    config.User
	Getenv  func(string) string
	Procs   identity.ProcessTree
	Dir     string // the working directory, if the runtime names none
	Sys     office.System
	Program func() string // what an agent types to run post
	// Path is where this program stands. It is what a session of a daemon is
	// told: its hooks' PATH is not its shell's.
	Path func() string
	// Route makes what routes and wakes in an office.
	Route func(*office.Office) *dispatch.Dispatcher

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Shut reports whether standard output leads nowhere; nil is no.
	Shut func() bool
	// Abort ends the process, for a call that takes too long.
	Abort func(code int)
	// Limit replaces callMax in tests.
	Limit time.Duration
}

// Run answers one call and returns the exit code: 0, or what makes the runtime
// wake its session. What goes wrong is logged. It works on the goroutine it is
// called on: one more costs a thread, and a hook runs at every turn.
func (h *Hook) Run(ctx context.Context, args []string) int {
	limit := h.Limit
	if limit == 0 {
		limit = callMax
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{limit: limit}
	r.timer = time.AfterFunc(limit, func() {
		code, event, first := r.end()
		if first {
			h.fault(event, errors.New("it took too long, and was broken off"))
			cancel()
			h.Abort(code)
		}
	})
	defer r.timer.Stop()
	err := h.guarded(ctx, r, args)
	code, event, first := r.end()
	if err != nil && first {
		h.fault(event, err)
	}
	return code
}

// run is what a call has come to, seen from its watchdog.
type run struct {
	limit time.Duration
	timer *time.Timer

	mu    sync.Mutex
	name  string
	code  int
	ended bool
}

// shorten gives the call less time than it has.
func (r *run) shorten(d time.Duration) {
	if r.timer != nil {
		r.timer.Reset(min(d, r.limit))
	}
	r.limit = min(d, r.limit)
}

// end returns the exit code and the event; first is true for who ends it.
func (r *run) end() (code int, event string, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, r.ended = !r.ended, true
	return r.code, r.name, first
}

func (r *run) set(name string, code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.code = name, code
}

func (h *Hook) fault(event string, err error) {
	Note(h.User, h.Sys.Now(), strings.TrimSpace(h.Runtime.Name()+" "+event)+": "+err.Error())
}

// guarded is answer with a panic made an error.
func (h *Hook) guarded(ctx context.Context, r *run, args []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v at %s", p, where(debug.Stack()))
		}
	}()
	data, err := io.ReadAll(io.LimitReader(h.Stdin, stdinMax))
	if err != nil {
		return bad(h.Runtime.Name(), "standard input", err)
	}
	if h.Getenv(identity.WorkerEnv) != "" {
		return nil // a headless worker is told of its mail by its keeper
	}
	ev, err := h.Runtime.Read(Input{Stdin: data, Args: args, Getenv: h.Getenv})
	if err != nil {
		return err
	}
	r.set(word(ev.Name), 0)
	if ev.Kind == SessionEnd {
		r.shorten(endMax)
	}
	c := &call{Hook: h, Event: ev, key: identity.SessionKeyOf(h.Runtime.Name(), ev.SessionID)}
	return c.answer(ctx, r)
}

// where finds our own first line in a stack.
func where(stack []byte) string {
	for line := range strings.Lines(string(stack)) {
		if i := strings.Index(line, "/internal/"); i >= 0 && !strings.Contains(line, "hook/run.go") {
			place, _, _ := strings.Cut(strings.TrimSpace(line[i+1:]), " ")
			return place
		}
	}
	return "an unknown place"
}

// answer decides, says and records, in this order.
func (c *call) answer(ctx context.Context, r *run) error {
	if c.Kind == Other {
		return nil
	}
	s, say, err := c.seat()
	if err != nil {
		return err
	}
	if s == nil {
		if say == "" {
			return nil
		}
		_, err := c.write(r, Answer{Context: say})
		return err
	}
	var errs []error
	if c.Kind == Stop { // mail that comes from here on meets an idle session, and wakes it
		errs = append(errs, c.attend(s, Answer{}))
	}
	a, rec, err := c.decide(s)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if (c.Kind == Stop || c.Kind == FileChanged) && c.Runtime.Limits().Watches && c.wakesItself(s) {
		a.Watch = inboxOf(s)
	}
	errs = append(errs, c.exports(a.Env))
	said, err := c.write(r, a)
	errs = append(errs, err)
	if said && len(rec) > 0 {
		errs = append(errs, s.Receipt(rec...))
	}
	if c.Kind != Stop || a.Block {
		errs = append(errs, c.attend(s, a))
	}
	errs = append(errs, c.leave(s))
	c.move(ctx, s)
	return errors.Join(errs...)
}

// write hands an answer over; said reports whether somebody has it.
func (c *call) write(r *run, a Answer) (said bool, err error) {
	if a.empty() {
		return false, nil
	}
	out := c.Runtime.Write(c.Event, a)
	if len(out.Stdout)+len(out.Stderr) == 0 {
		return false, nil
	}
	if _, err = c.Stdout.Write(out.Stdout); err == nil {
		_, err = c.Stderr.Write(out.Stderr)
	}
	if err == nil && c.Shut != nil && c.Shut() {
		err = errors.New("standard output is closed")
	}
	if err != nil {
		return false, &mail.Error{Op: "write answer", Kind: mail.KindStore, Err: err, Hint: "the mail stays as it was, and is told again"}
	}
	r.set(word(c.Name), out.Exit)
	return true, nil
}

// exports appends to the file from which the session's shell commands take
// their environment. Values are quoted for a POSIX shell.
func (c *call) exports(env map[string]string) error {
	if c.EnvFile == "" || len(env) == 0 {
		return nil
	}
	text := ""
	for _, name := range []string{identity.SessionEnv} {
		if v, ok := env[name]; ok {
			text += "export " + name + "=" + shellQuote(v) + "\n"
		}
	}
	if fi, err := os.Lstat(c.EnvFile); err == nil {
		if !fi.Mode().IsRegular() {
			return bad(c.Runtime.Name(), "the environment file", errors.New("is no regular file"))
		}
		if old, err := os.ReadFile(c.EnvFile); err == nil && strings.Contains(string(old), text) {
			return nil
		}
	}
	f, err := os.OpenFile(c.EnvFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return bad(c.Runtime.Name(), "the environment file", err)
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// leave records that a session is over, so that its agent's name is free.
func (c *call) leave(s *seat) error {
	if c.Kind != SessionEnd || c.Continues {
		return nil
	}
	if h, ok := s.roll.Holder(s.Entry.AID); !ok || h.Key != s.key {
		return nil
	}
	return s.roll.Leave(s.Entry.AID)
}
