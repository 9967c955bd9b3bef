//go:build unix

package postd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify/acptest"
)

// shop is an office with a headless worker, coder, that a test drives.
type shop struct {
	*place
	fake acptest.Dir
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{newPlace(t, "ann"), acptest.New(t)}
	args := []string{"--runtime", "opencode", "--notify", "acp"}
	for _, a := range s.fake.Launch() {
		args = append(args, "--launch="+a)
	}
	s.join("coder", args...)
	t.Cleanup(func() { s.run("post", "stop", "coder") })
	return s
}

// worker is what post agents says of it.
type worker struct {
	Presence, Evidence string
	Started            *struct {
		State, How string
		PID        int
	}
	Unread int
	Wake   *struct{ State, Evidence string }
}

func (s *shop) look() (w worker) {
	s.t.Helper()
	for line := range strings.Lines(s.ok("post", "agents", "--json")) {
		if strings.Contains(line, `"name":"coder"`) {
			if err := json.Unmarshal([]byte(line), &w); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return w
}

func (s *shop) idle() {
	s.t.Helper()
	eventually(s.t, "an idle worker", func() bool {
		w := s.look()
		return w.Started != nil && w.Started.State == "running" && w.Presence == "active"
	})
}

func (s *shop) prompts() int { return len(s.fake.Lines("prompts")) }

func (s *shop) send(text string, more ...string) (code int, out string) {
	s.t.Helper()
	code, out, _ = s.run("post", append([]string{"send", "coder", "--as", "ann", "-s", text, "-m", text}, more...)...)
	return code, out
}

// told sends to a worker that is idle. On a slow machine the answer may come
// after the sender's two seconds; then it says so.
func (s *shop) told(text string) (id string, quick bool) {
	s.t.Helper()
	code, out := s.send(text)
	quick = code == 0 && strings.Contains(out, "(notified: acp)")
	if !quick && (code != mail.ExitNotSurfaced || !strings.Contains(out, "delivered, not yet surfaced: ")) {
		s.t.Fatalf("%d %s", code, out)
	}
	for _, w := range strings.Fields(out) {
		if mail.ID(w).Valid() {
			return w, quick
		}
	}
	s.t.Fatal(out)
	return "", false
}

func pidOf(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestWorkerLife: from a message that nobody keeps a worker for, to a worker that
// is told, stopped, started and survives the death of its serve.
func TestWorkerLife(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	code, out := s.send("early")
	if code != mail.ExitNotSurfaced || !strings.Contains(out, "no postd serve runs for this office, and it keeps the worker of coder; start it: post serve") || !strings.Contains(out, "Do not resend") {
		t.Fatalf("%d %s", code, out)
	}
	if code, _, said := s.run("post", "start", "coder"); code == 0 || !strings.Contains(said, "start it: post serve") {
		t.Fatalf("%d %s", code, said)
	}
	if _, found, _ := s.run("post", "doctor"); !strings.Contains(found, "nobody keeps the worker of coder") {
		t.Error(found)
	}
	first := s.serve()
	eventually(t, "the early mail to be told", func() bool { return s.prompts() == 1 })
	s.idle()
	if out := s.ok("post", "read", "next", "--as", "coder"); !strings.Contains(out, "early") {
		t.Fatal(out)
	}
	code, out = s.send("now")
	if code != 0 || !strings.Contains(out, "(notified: acp)") || s.prompts() != 2 {
		t.Fatalf("%d %s %q\n%s", code, out, s.fake.Lines("prompts"), first.log)
	}
	id := strings.Fields(out)[1]
	eventually(t, "its evidence", func() bool {
		return strings.Contains(s.ok("post", "trace", id), "acp: prompt accepted, turn began after")
	})
	if got := s.fake.Lines("prompts")[1]; strings.Contains(got, "now") || !strings.Contains(got, "post inbox --as coder --office ") || !strings.Contains(got, id) {
		t.Errorf("%q", got)
	}
	if log := s.ok("post", "logs", "coder"); !strings.Contains(log, ": started: ") || !strings.Contains(log, "prompt: it is told of 1 message") || strings.Contains(log, "early") {
		t.Error(log)
	}

	wantText(t, s.ok("post", "stop", "coder"), "coder stopped (ended when asked to)")
	if w := s.look(); w.Presence != "down" || w.Started.State != "stopped" || w.Started.How != "worker" {
		t.Errorf("%+v %+v", w, w.Started)
	}
	if code, out = s.send("while stopped"); code != mail.ExitNotSurfaced || !strings.Contains(out, "it was stopped; start it: post start coder") {
		t.Errorf("%d %s", code, out)
	}
	wantText(t, s.ok("post", "start", "coder"), "coder started (worker, process ")
	eventually(t, "the mail that waited", func() bool { return s.prompts() == 3 })
	wantText(t, s.ok("post", "up"), "coder runs already (worker, process ")
	s.idle()
	wantText(t, s.ok("post", "restart", "coder"), "coder started (worker, process ")
	s.idle()
	if opened := s.fake.Lines("opened"); len(opened) != 3 || !strings.HasPrefix(opened[1], "load ") || !strings.HasPrefix(opened[2], "load ") {
		t.Errorf("%q", opened)
	}

	last := pidOf(t, s.fake.Lines("starts")[2])
	first.end(t, syscall.SIGKILL)
	second := s.serve()
	eventually(t, "a new worker", func() bool { return len(s.fake.Lines("opened")) == 4 })
	if p, alive := identity.System().Process(last); alive {
		t.Errorf("the one before runs on: %+v", p)
	}
	s.idle()
	worker := pidOf(t, s.fake.Lines("starts")[3])
	if code := second.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d: %s", code, second.log)
	}
	if _, alive := identity.System().Process(worker); alive {
		t.Error("the worker outlives its serve")
	}
	if f := s.fake.Lines("faults"); f != nil {
		t.Error(f)
	}
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWorkerForty: forty senders while a turn runs: mail waits, then one prompt
// tells of all of it.
func TestWorkerForty(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	served := s.serve()
	s.idle()
	s.fake.Say(acptest.Hold)
	s.told("first")
	eventually(t, "a busy worker", func() bool { return s.look().Presence == "busy" })
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if code, out := s.send(fmt.Sprint("m", i)); code != mail.ExitNotSurfaced || !strings.Contains(out, "delivered, not yet surfaced") {
				t.Errorf("%d %s", code, out)
			}
		})
	}
	wg.Wait()
	if n := s.prompts(); n != 1 {
		t.Errorf("%d prompts while a turn runs: %q", n, s.fake.Lines("prompts"))
	}
	s.fake.Unsay(acptest.Hold)
	eventually(t, "the next prompt", func() bool { return s.prompts() == 2 })
	s.idle()
	if got := s.fake.Lines("prompts")[1]; !strings.Contains(got, "40 new messages (41 unread in all)") && !strings.Contains(got, "41 new messages") {
		t.Errorf("%q\n%s", got, served.log)
	}
	if len(s.fake.Lines("starts")) != 1 || s.fake.Lines("faults") != nil {
		t.Errorf("%q %q", s.fake.Lines("starts"), s.fake.Lines("faults"))
	}
}

// TestWorkerCrash: a worker that dies in the middle of a turn comes back and is
// told again; one that keeps dying is what the doctor finds.
func TestWorkerCrash(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.serve()
	s.idle()
	s.fake.Say(acptest.Crash)
	s.send("work")
	eventually(t, "the second telling", func() bool { return s.prompts() == 2 })
	s.idle()
	if opened := s.fake.Lines("opened"); len(opened) != 2 || !strings.HasPrefix(opened[1], "load ") {
		t.Errorf("%q", opened)
	}
	s.fake.Say(acptest.Dies)
	syscall.Kill(pidOf(t, s.fake.Lines("starts")[1]), syscall.SIGKILL)
	eventually(t, "three crashes", func() bool { return len(s.fake.Lines("starts")) >= 4 })
	eventually(t, "the doctor to know", func() bool {
		_, found, _ := s.run("post", "doctor")
		return strings.Contains(found, "the worker of coder keeps ending, ") && strings.Contains(found, "exit status 7")
	})
	code, out := s.send("lost?")
	if code != mail.ExitNotSurfaced || !strings.Contains(out, "its worker ended (") || !strings.Contains(out, "see post logs coder") {
		t.Errorf("%d %s", code, out)
	}
	if log := s.ok("post", "logs", "coder"); !strings.Contains(log, "cannot go on") { // its standard error
		t.Error(log)
	}
}

// TestWorkerJoin: what is registered, and what is refused.
func TestWorkerJoin(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	bin := filepath.Join(p.root, "bin", "opencode")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.join("one", "--runtime", "opencode", "--notify", "acp:allow=edit", "--notify", ":allow=read")
	out := p.ok("post", "agent", "show", "one")
	wantText(t, out, "acp allow=edit allow=read")
	wantText(t, out, "opencode acp")
	for _, args := range [][]string{{"--notify", "acp"}, {"--runtime", "opencode", "--notify", "acp:opencode"}, {"--runtime", "opencode", "--notify", "acp:allow=everything"}} {
		if code, _, said := p.run("post", append([]string{"join", "two"}, args...)...); code != mail.ExitUsage || said == "" {
			t.Errorf("%q: %d %s", args, code, said)
		}
	}
	p.ok("post", "agent", "set", "one", "--notify", "opencode")
	if out := p.ok("post", "agent", "show", "one", "--json"); !strings.Contains(out, `"launch":["opencode"]`) {
		t.Error(out)
	}
	p.ok("post", "agent", "set", "one", "--notify", "acp")
	if out := p.ok("post", "agent", "show", "one", "--json"); !strings.Contains(out, `"launch":["opencode","acp"]`) {
		t.Error(out)
	}
}
