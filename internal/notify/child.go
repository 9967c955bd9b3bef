package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// stderrMax is how much of what a failed program said is passed on, in bytes.
	stderrMax = 200
	// waitDelay is how long output is awaited after the program ended: a child
	// that went into the background may keep the pipes open for ever.
	waitDelay = 100 * time.Millisecond
	// outputDelay is the same where the output is what the program was run for.
	outputDelay = time.Second
)

// child is one run of another program: no shell, a process group of its own,
// which is killed when the context ends.
type child struct {
	argv   []string
	env    []string // nil is our own
	dir    string   // "" is our own
	stdin  []byte
	stdout int // how much of it is wanted, in bytes; 0 discards it
}

// ended is how a child ended.
type ended struct {
	ok     bool   // exit code 0, whatever the context says, and stdout is whole if it is wanted
	code   int    // exit code; -1 if it was not started or was killed
	why    string // why not ok, in words
	hint   string
	stdout []byte
}

func (c child) run(ctx context.Context) ended {
	start := time.Now()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = c.env, c.dir, bytes.NewReader(c.stdin)
	cmd.WaitDelay = waitDelay
	ownGroup(cmd)
	errTail, out := &tail{max: stderrMax}, &head{max: c.stdout}
	cmd.Stderr = errTail
	if c.stdout > 0 {
		cmd.Stdout, cmd.WaitDelay = out, outputDelay
	}
	err := cmd.Run()
	if ps := cmd.ProcessState; ps != nil && ps.Success() {
		if c.stdout > 0 && errors.Is(err, exec.ErrWaitDelay) { // half a screen may show an empty prompt
			return ended{code: -1, why: "its output did not end"}
		}
		return ended{ok: true, stdout: out.buf}
	}
	e := ended{code: -1}
	switch {
	case ctx.Err() != nil:
		e.why = overdue(ctx, start)
		if cmd.ProcessState != nil {
			e.why += "; killed"
		}
		return e
	case errors.Is(err, fs.ErrPermission):
		e.why, e.hint = "permission denied: "+c.argv[0], "make it executable"
		return e
	case errors.Is(err, fs.ErrNotExist):
		e.why = "no such program, or the interpreter in its first line is missing: " + c.argv[0]
		return e
	case cmd.ProcessState == nil:
		e.why = err.Error()
		return e
	}
	e.code = cmd.ProcessState.ExitCode()
	e.why = cmd.ProcessState.String() // "exit status 4", "signal: killed"
	if said := line(errTail.String(), stderrMax); said != "" {
		e.why += ": " + said
	}
	return e
}

// tail keeps the last max bytes written to it.
type tail struct {
	max int
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[over:]...), true
	}
	return len(p), nil
}

// String drops the rest of a character that was cut in two.
func (t *tail) String() string {
	b := t.buf
	for t.cut && len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return string(b)
}

// head keeps the first max bytes written to it and swallows the rest.
type head struct {
	max int
	buf []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.buf = append(h.buf, p[:min(len(p), h.max-len(h.buf))]...)
	return len(p), nil
}

// scrubbed returns the environment of a program that an agent registered: what
// any program needs to run, nothing of the session that happens to send, and
// extra.
func scrubbed(getenv func(string) string, extra ...string) []string {
	if getenv == nil {
		getenv = os.Getenv
	}
	var env []string
	for _, k := range append([]string{"PATH", "HOME", "TMPDIR", "LANG"}, systemVars()...) {
		if v := getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	return append(env, extra...)
}

func pair(name string, value any) string {
	return strings.ToUpper("postroom_"+name) + "=" + fmt.Sprint(value)
}
