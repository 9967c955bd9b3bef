//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// worker is a seat without a terminal: postd serve keeps its CLI.
type worker struct{ *seat }

// employ registers the CLI as a headless worker, after post install and with its
// own permission rules, and starts post serve.
func (u *user) employ(c cli) worker {
	u.t.Helper()
	s := u.sitGuarded("coder", c)
	s.onPath()
	if c.name == "opencode" { // it asks before nothing, unless it is told to
		file := filepath.Join(s.home, ".config", "opencode", "opencode.json")
		raw, err := os.ReadFile(file)
		must(u.t, err)
		write(u.t, strings.Replace(string(raw), `"autoupdate": false`, `"autoupdate": false, "permission": {"bash": "ask"}`, 1), file)
	}
	s.install()
	join := []string{"--runtime", c.name, "--notify", "acp"}
	for _, arg := range map[string][]string{
		"opencode": {"acp"},
		"gemini":   {"--acp", "-m", "gemini-2.5-flash", "--skip-trust"},
		"qwen":     {"--acp", "--auth-type", "openai"},
		"copilot":  {"--acp"},
	}[c.name] {
		if len(join) == 4 {
			join = append(join, "--launch="+s.path)
		}
		join = append(join, "--launch="+arg)
	}
	s.join(join...)
	w := worker{s}
	w.serve()
	return w
}

// serve starts post serve, which ends with the scenario.
func (w worker) serve() {
	w.t.Helper()
	log, err := os.Create(filepath.Join(w.root, "serve.log"))
	must(w.t, err)
	cmd := exec.Command(given.Programs+"/post", "serve", "--office", w.office)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.root+"/work", w.environ(), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		log.Close()
		if w.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			w.t.Logf("serve:\n%s\nworker:\n%s", text, w.logs())
		}
	})
}

func (w worker) logs() string {
	w.t.Helper()
	return w.run(w.root+"/work", w.user.env, given.Programs+"/post", "logs", "coder", "-n", "200", "--office", w.office).out
}

// standing is what post agents says of it.
type standing struct {
	Name, Presence, Evidence string
	Started                  *struct {
		State, How string
		PID        int
	}
}

func (w worker) stands() (v standing) {
	w.t.Helper()
	for line := range strings.Lines(w.ok("agents", "--json", "--office", w.office).out) {
		var a standing
		must(w.t, json.Unmarshal([]byte(line), &a))
		if a.Name == "coder" {
			v = a
		}
	}
	return v
}

// idle waits until the worker runs and no turn does; with another process than
// the one that is given.
func (w worker) idle(but int) (pid int) {
	w.t.Helper()
	until(w.t, "an idle worker", func() bool {
		v := w.stands()
		if v.Started != nil {
			pid = v.Started.PID
		}
		return v.Started != nil && v.Started.State == "running" && v.Presence == "active" && pid != but
	})
	return pid
}

// A CLI without a terminal gets mail, reads it and answers; what nobody allowed
// is refused. Killed in the middle of a turn it comes back, goes on with its
// session where it can, and is told again.
func TestACPWorker(t *testing.T) {
	t.Parallel()
	on(t, "opencode gemini qwen copilot", func(t *testing.T, c cli) {
		never := make(chan struct{})
		defer close(never)
		u := newUser(t, nil)
		touched := u.root + "/touched"
		u.script = stubmodel.Rules(
			stubmodel.Rule{When: "first body", Once: true, Then: stubmodel.Shell("post reply last -m 'the word is kumquat'")},
			stubmodel.Rule{When: "second body", Once: true, Then: stubmodel.Say("read after all")},
			stubmodel.Rule{When: "third body", Once: true, Then: stubmodel.Shell("touch " + touched)},
			stubmodel.Rule{When: "delivered ", Once: true, Then: stubmodel.Say("answered")},
			stubmodel.Rule{When: "Postroom: 1 new message", Once: true, Then: stubmodel.Shell("post read next")},
			stubmodel.Rule{When: "Postroom: 1 new message", Once: true, Then: stubmodel.Say("never").After(never)},
			stubmodel.Rule{When: "Postroom: 1 ", Then: stubmodel.Shell("post read next")},
		)
		w := u.employ(c)
		w.mail("coder", "subject one", "the first body", "--act", "request")
		u.await("the first wake", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("Postroom: 1 new message") })
		until(t, "an answer", func() bool {
			return strings.Contains(u.ok("inbox", "--as", "ann", "--office", u.office).out, "coder")
		})
		if out := u.ok("read", "next", "--as", "ann", "--office", u.office).out; !strings.Contains(out, "the word is kumquat") {
			t.Errorf("%s", out)
		}
		first := w.idle(0)

		w.mail("coder", "subject two", "the second body")
		until(t, "a busy worker", func() bool { return w.stands().Presence == "busy" })
		u.await("the second wake", wakeNumber(2))
		must(t, syscall.Kill(first, syscall.SIGKILL))
		again := u.await("the wake after the reload", func(r stubmodel.Request) bool {
			return r.Agent == "coder" && r.NewestHas("Postroom: 1 ") && wakesIn(u, "coder") >= 3
		})
		until(t, "it to be read", func() bool { return len(w.receipts("read")) == 2 })
		second := w.idle(first)
		log := w.logs()
		switch loaded := strings.Contains(log, "loaded again"); {
		case loaded && !again.Has("kumquat"):
			t.Errorf("the session was loaded, and its conversation is gone")
		case !loaded && !strings.Contains(log, "a fresh session, the one before is lost: "):
			t.Errorf("neither loaded nor fresh")
		default:
			t.Logf("after the kill: loaded again: %t", loaded)
		}

		w.mail("coder", "subject three", "the third body")
		until(t, "it to be read", func() bool { return len(w.receipts("read")) == 3 })
		until(t, "a refusal", func() bool { return strings.Contains(w.logs(), "permission refused: ") })
		if pid := w.idle(first); pid != second {
			t.Errorf("process %d, then %d", second, pid)
		}
		if _, err := os.Stat(touched); err == nil {
			t.Error("what nobody allowed was done")
		}
		log = w.logs()
		for _, want := range []string{"permission allowed: post read", "permission allowed: post reply"} {
			if !strings.Contains(log, want) {
				t.Errorf("not in the log: %s", want)
			}
		}
		for _, words := range []string{"the first body", "subject one", "kumquat", touched} {
			if strings.Contains(log, words) {
				t.Errorf("in the log: %s", words)
			}
		}
		for _, body := range []string{"the first body", "the second body", "the third body"} {
			if roles := u.model.Roles(body); !slices.Equal(roles, []stubmodel.Role{stubmodel.ToolRole}) {
				t.Errorf("%s came as %v", body, roles)
			}
		}
		if n := wakesIn(u, "coder"); n < 4 || n > 8 { // on a slow machine some are reminders
			t.Errorf("%d wakes for three messages and a kill", n)
		}
		until(t, "evidence", func() bool { // on a slow machine the turn began after the sender's time was up
			out := u.ok("trace", "--json", "--as", "ann", "--office", u.office, woken{&terminal{seat: w.seat}}.newest()).out
			return strings.Contains(out, "acp: prompt accepted") || strings.Contains(out, "acp: the prompt was written")
		})
	})
}

// wakesIn counts the prompts of ours among an agent's turns.
func wakesIn(u *user, agent string) (n int) {
	for _, r := range u.model.Turns(agent) {
		for _, e := range r.Newest() {
			if e.Role == stubmodel.User && e.Kind == stubmodel.Text && strings.Contains(e.Text, "Postroom: 1 ") {
				n++
			}
		}
	}
	return n
}

// wakeNumber fits the n-th request that our prompt came with.
func wakeNumber(n int) func(stubmodel.Request) bool {
	seen := 0
	return func(r stubmodel.Request) bool {
		if r.Agent == "coder" && r.Sort == stubmodel.Turn && r.NewestHas("Postroom: 1 ") {
			seen++
		}
		return seen >= n
	}
}
