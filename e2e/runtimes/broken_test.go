//go:build e2e && linux

package runtimes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// holdLease has a process take the office's lease, and stops it there.
func (u *user) holdLease() (release func()) {
	u.t.Helper()
	cmd := exec.Command("flock", u.office+"/lease", "flock", u.office, "sh", "-c", "kill -STOP $$")
	cmd.Env, cmd.Dir = u.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(u.t, cmd.Start())
	done := false
	release = func() {
		if !done {
			done = true
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		}
	}
	u.t.Cleanup(release)
	until(u.t, "the lease is held", func() bool {
		for _, path := range []string{u.office + "/lease", u.office} {
			if exec.Command("flock", "-n", path, "true").Run() == nil {
				return false
			}
		}
		return true
	})
	return release
}

// A router that stands still while it has the lease keeps nobody's prompt; a
// registry that is cut in two does neither, and post doctor tells of it. When it
// is whole again, mail goes on.
func TestBrokenOffice(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules())
		s := u.sit("coder", c).installed("--notify", "none")
		term := s.open()
		term.prompt("good morning")
		term.rests()

		u.mail("coder", "one", "a body")
		release := u.holdLease()
		write(t, `{"to":"ann","act":"inform","subject":"by hand","body":"written by the agent"}`, s.office, "agents", "coder", "outbox", "x.json")
		term.typed("with the lease held")
		start := time.Now()
		term.keys("Enter")
		r := u.await("the prompt", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("with the lease held") })
		took := time.Since(start)
		t.Logf("the model had the prompt after %v", took)
		if took > 20*time.Second { // our own limit is 5 s; the rest is for a loaded machine
			t.Errorf("the prompt waited %v", took)
		}
		if !said(r, "1 new message") {
			t.Errorf("it was told nothing: %v", r.Newest())
		}
		term.rests()
		release()

		registry := filepath.Join(s.office, "registry.json")
		whole, err := os.ReadFile(registry)
		must(t, err)
		must(t, os.WriteFile(registry, whole[:len(whole)/2], 0o600))
		if r := term.prompt("with a torn registry"); r.NewestHas("Postroom") {
			t.Errorf("it was told: %v", r.Newest())
		}
		log := ""
		until(t, "the turn's last hook", func() bool {
			raw, err := os.ReadFile(filepath.Join(u.home, ".local/state/postroom/hooks.log"))
			log = string(raw)
			return err == nil && strings.Contains(log, c.name+" Stop:")
		})
		if !strings.Contains(log, c.name+" UserPromptSubmit:") || !strings.Contains(log, "registry") {
			t.Errorf("hooks.log:\n%s", log)
		}
		term.quiet()
		if d := u.post("doctor", "--office", s.office); d.exit == 0 || !strings.Contains(d.out+d.err, "hooks.log") || !strings.Contains(d.out+d.err, "registry.json") {
			t.Errorf("%v", d)
		}

		must(t, os.WriteFile(registry, whole, 0o600))
		u.mail("coder", "two", "another body")
		if r := term.prompt("whole again"); !said(r, "1 new message") {
			t.Errorf("it was told nothing: %v", r.Newest())
		}
		if out := u.ok("inbox", "--as", "ann", "--office", s.office).out; !strings.Contains(out, "by hand") {
			t.Errorf("what the agent wrote was not sent:\n%s", out)
		}
	})
}
