package hook

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
)

// panics is a runtime whose translation is broken.
type panics struct{ Claude }

func (panics) Read(Input) (Event, error) { panic("a bug with \x1b[31m colour") }

// A hook never stands in the person's way: no output, exit 0, one line.
func TestFailsOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run func(w *world) result
		log string
	}{
		"a panic":     {func(w *world) result { return w.raw(panics{}, 10, "{}") }, "panic: a bug with"},
		"no JSON":     {func(w *world) result { return w.raw(Claude{}, 10, `{"session_id"`) }, "standard input"},
		"no session":  {func(w *world) result { return w.raw(Claude{}, 10, `{"hook_event_name":"Stop"}`) }, "session_id"},
		"a torn book": {func(w *world) result { w.tear(); return w.on(prompt) }, "registry"},
		"unreadable input": {func(w *world) result {
			h, out, errs := w.hook(Claude{}, 10, "")
			h.Stdin = io.MultiReader(strings.NewReader("{"), broken{})
			return result{out: out.String(), err: errs.String(), code: h.Run(context.Background(), nil)}
		}, "no such input"},
	} {
		w := seated(t)
		if r := c.run(w); !r.silent() {
			t.Errorf("%s: %+v", name, r)
		}
		lines := strings.Count(w.log(), "\n")
		if !strings.Contains(w.log(), c.log) || lines != 1 || strings.Contains(w.log(), "\x1b") {
			t.Errorf("%s: log: %q", name, w.log())
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) {
	return 0, &mail.Error{Op: "read", Kind: mail.KindStore, Addr: "no such input"}
}

// An input that never ends, or anything else that hangs, is broken off.
func TestTooLong(t *testing.T) {
	t.Parallel()
	w := seated(t)
	h, out, _ := w.hook(Claude{}, 10, "")
	pr, pw := io.Pipe()
	h.Stdin, h.Limit = pr, 20*time.Millisecond
	aborted := make(chan int, 1)
	h.Abort = func(code int) { aborted <- code; pw.Close() }
	if h.Run(context.Background(), nil); out.Len() != 0 {
		t.Errorf("%q", out)
	}
	if code := <-aborted; code != 0 {
		t.Errorf("exit %d", code)
	}
	if l := w.log(); !strings.Contains(l, "too long") || strings.Count(l, "\n") != 1 {
		t.Errorf("log: %q", l)
	}
}

// An answer that is out by then keeps its exit code.
func TestTooLongAfterTheAnswer(t *testing.T) {
	t.Parallel()
	w := seated(t)
	w.mail("tester", "coder", mail.Request)
	h, _, errs := w.hook(Claude{}, 10, `{"hook_event_name":"FileChanged","session_id":"s1","cwd":"/ws"}`)
	r := &run{limit: time.Minute}
	if err := h.guarded(context.Background(), r, nil); err != nil {
		t.Fatal(err)
	}
	if code, event, first := r.end(); code != 2 || event != "FileChanged" || !first || errs.Len() == 0 {
		t.Errorf("%d %s %v %s", code, event, first, errs)
	}
}

// The end of a session has a shorter time than everything else.
func TestEndIsShort(t *testing.T) {
	t.Parallel()
	w := seated(t)
	h, _, _ := w.hook(Claude{}, 10, `{"hook_event_name":"SessionEnd","session_id":"s1","cwd":"/ws","reason":"other"}`)
	r := &run{limit: time.Minute}
	if err := h.guarded(context.Background(), r, nil); err != nil {
		t.Fatal(err)
	}
	if r.limit > time.Second {
		t.Errorf("%v; Claude Code gives 1.5 s", r.limit)
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "coder:claude:/ws")
	now := w.desk.Clock.Now()
	for range 1000 {
		Note(w.user, now, "claude Stop: "+strings.Repeat("x", 2000)+"\n\x1b[31mforged line")
	}
	for _, name := range []string{LogFile, LogFile + ".old"} {
		fi, err := os.Lstat(filepath.Join(w.user.Dir, name))
		if err != nil || fi.Size() > logMax+2*lineMax || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, fi, err)
		}
	}
	path, lines := Faults(w.user, now.Add(-time.Hour))
	if len(lines) == 0 || filepath.Base(path) != LogFile || strings.Contains(strings.Join(lines, ""), "\x1b") {
		t.Errorf("%s: %d lines", path, len(lines))
	}
	if _, lines := Faults(w.user, now.Add(time.Hour)); len(lines) != 0 {
		t.Errorf("%d lines are older", len(lines))
	}
}

// Another process of the agent that holds the mailbox lock, stopped perhaps, is
// not waited for at each prompt: the mail is said, the receipt is for the next.
func TestMailboxLockHeld(t *testing.T) {
	t.Parallel()
	w := seated(t)
	w.mail("tester", "coder", mail.Request)
	box := w.desk.Box("coder").Author.Box
	unlock, err := box.Lock(0)
	w.must(err)
	start := time.Now()
	r := w.on(prompt)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the prompt waited %v", took)
	}
	unlock()
	if !strings.Contains(r.text(), "request from tester") {
		t.Errorf("said %+v", r)
	}
	if p := w.presence("coder"); p.State != presence.Busy {
		t.Errorf("presence is %+v", p)
	}
	if !strings.Contains(w.log(), "another process of this agent is at work") {
		t.Errorf("log: %q", w.log())
	}
}
