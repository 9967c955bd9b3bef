//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// woken is a seat whose agent is woken: an office, hooks, a session that has had
// a turn and sits at its prompt.
type woken struct {
	*terminal
}

// wakeable starts a CLI in a terminal after post join and post install, as a
// person types them, and has it say hello.
func (u *user) wakeable(c cli, open []string, change func(*seat)) woken {
	u.t.Helper()
	s := u.sit("coder", c)
	if change != nil {
		change(s)
		s.configure(s)
	}
	s.installed()
	w := woken{s.open(open...)}
	w.prompt("good morning")
	w.shows("hello there")
	w.atPrompt()
	return w
}

// atPrompt waits until nothing runs any more, by the hooks and on the screen.
func (w woken) atPrompt() {
	w.t.Helper()
	w.presence("idle")
	w.waitScreen("the end of the turn", func(s string) bool { return !strings.Contains(s, "esc to interrupt") })
}

// presence waits until the agent's session says that it is in a state.
func (w woken) presence(state string) {
	w.t.Helper()
	w.t.Cleanup(func() {
		if raw, err := os.ReadFile(w.office + "/agents/coder/presence.json"); w.t.Failed() {
			w.t.Logf("presence: %s %v", raw, err)
		}
	})
	until(w.t, "presence "+state, func() bool { return w.is(state) })
}

// is reports whether the session's presence is so now.
func (w woken) is(state string) bool {
	raw, err := os.ReadFile(w.office + "/agents/coder/presence.json")
	return err == nil && strings.Contains(string(raw), `"state":"`+state+`"`)
}

// send sends one message and returns what post said of it.
func (w woken) send(subject string, more ...string) ran {
	w.t.Helper()
	w.someone()
	return w.post(append([]string{"send", "coder", "--as", "ann", "--office", w.office, "-s", subject, "-m", "the body of " + subject}, more...)...)
}

// someone makes the agent ann, who writes.
func (w woken) someone() {
	w.t.Helper()
	ann := filepath.Join(w.root, "work", "ann")
	if os.Mkdir(ann, 0o755) == nil {
		w.ok("join", "ann", "--office", w.office, "--workspace", ann)
	}
}

// wakes are the turns that began with words of ours, as a prompt of the user's
// rank.
func (w woken) wakes() int {
	n, last := 0, ""
	for _, r := range w.model.Turns("coder") {
		for _, e := range r.Newest() {
			if e.Role == stubmodel.User && e.Kind == stubmodel.Text && strings.Contains(e.Text, "Postroom: ") && strings.Contains(e.Text, " new message") && e.Text != last {
				n, last = n+1, e.Text
			}
		}
	}
	return n
}

// attempts are the notified records of the journal, as state and evidence.
func (w woken) attempts() (list []string) {
	w.t.Helper()
	out := w.ok("trace", "--json", "--as", "ann", "--office", w.office, w.newest()).out
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, `"notified"`) {
			list = append(list, line)
		}
	}
	return list
}

// newest is the last message that ann sent; until a pass files it, it lies in
// the outbox itself.
func (w woken) newest() string {
	w.t.Helper()
	last := ""
	for _, where := range []string{"outbox", "outbox/.sent"} {
		names, err := filepath.Glob(filepath.Join(w.office, "agents", "ann", where, "2*.json"))
		must(w.t, err)
		for _, name := range names {
			last = max(last, strings.TrimSuffix(filepath.Base(name), ".json"))
		}
	}
	return last
}

// shown counts the messages that the agent's own receipts say it was shown.
func (w woken) shown() int {
	raw, err := os.ReadFile(w.office + "/agents/coder/receipts.jsonl")
	if err != nil {
		return 0
	}
	ids := map[string]bool{}
	for _, line := range strings.Split(string(raw), "\n") {
		var r struct{ Event, ID string }
		if json.Unmarshal([]byte(line), &r) == nil && r.Event == "surfaced" {
			ids[r.ID] = true
		}
	}
	return len(ids)
}

func goodMorning(more ...stubmodel.Rule) stubmodel.Script {
	return stubmodel.Rules(append(more,
		stubmodel.Rule{When: "good morning", Once: true, Then: stubmodel.Say("hello there")},
		stubmodel.Rule{When: "Postroom: ", Once: true, Then: stubmodel.Shell("post inbox --as coder")},
	)...)
}

// An idle session in a terminal is woken by one message, reads its mail, and the
// sender was told the truth.
func TestIdleWake(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, goodMorning())
		w := u.wakeable(c, nil, nil)
		start := time.Now()
		r := w.send("a subject")
		if r.exit != 0 || !strings.Contains(r.out, "notified: "+c.name) {
			t.Fatalf("%v", r)
		}
		u.await("the wake", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("Postroom: 1 new message") })
		t.Logf("%s: the sender knew after %v, the model had the wake after %v", c.name, r.took, time.Since(start))
		u.await("the inbox", func(r stubmodel.Request) bool {
			return len(r.Results()) > 0 && strings.Contains(r.Results()[0].Text, "a subject")
		})
		w.atPrompt()
		if n := w.wakes(); n != 1 {
			t.Errorf("%d wakes", n)
		}
		if roles := u.model.Roles("the body of"); len(roles) > 0 {
			t.Errorf("the body reached the model as %v", roles)
		}
		if list := w.attempts(); len(list) != 1 || !strings.Contains(list[0], "notified") {
			t.Errorf("journal: %q", list)
		}
	})
}

// Claude Code whose inbox takes nothing: its own hook sees the mailbox change.
func TestWakeWithoutSocket(t *testing.T) {
	t.Parallel()
	on(t, "claude", func(t *testing.T, c cli) {
		u := newUser(t, goodMorning())
		w := u.wakeable(c, nil, nil)
		sockets, err := filepath.Glob(w.root + "/*/cc-socks/*.sock")
		must(t, err)
		for _, s := range sockets {
			must(t, os.Remove(s))
		}
		start := time.Now()
		r := w.send("a subject")
		t.Logf("%v", r)
		u.await("the wake", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("Postroom: ") })
		t.Logf("the model had the wake after %v", time.Since(start))
		u.await("the inbox", func(r stubmodel.Request) bool {
			return len(r.Results()) > 0 && strings.Contains(r.Results()[0].Text, "a subject")
		})
		list := w.attempts()
		t.Logf("journal: %q", list)
		if len(list) == 0 || strings.Contains(list[0], "inbox socket took it") {
			t.Errorf("there was a socket: %q", list)
		}
		w.atPrompt()
		if n := w.wakes(); n > 1 {
			t.Errorf("%d wakes", n)
		}
	})
}

// Forty messages in a second are one wake; all are shown, none is lost.
func TestFortyMessages(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, goodMorning())
		w := u.wakeable(c, nil, nil)
		w.someone()
		start := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		exits := map[int]int{}
		for n := range 40 {
			wg.Go(func() {
				cmd := exec.Command(given.Programs+"/post", "send", "coder", "--as", "ann", "--office", w.office, "-s", "subject "+strconv.Itoa(n), "-m", "m"+strconv.Itoa(n))
				cmd.Dir, cmd.Env = w.root+"/work", w.user.env
				_ = cmd.Run()
				mu.Lock()
				defer mu.Unlock()
				exits[cmd.ProcessState.ExitCode()]++
			})
		}
		wg.Wait()
		t.Logf("40 sends took %v, exits %v", time.Since(start), exits)
		if exits[0]+exits[3] != 40 {
			t.Errorf("exits %v", exits)
		}
		until(t, "all shown", func() bool { return w.shown() == 40 })
		t.Logf("all shown after %v", time.Since(start))
		w.atPrompt()
		if n := w.wakes(); n != 1 {
			t.Errorf("%d wakes", n)
		}
	})
}

// A permission question is open: nothing is typed and nothing sent, the mail
// waits, and is shown when the question is answered.
func TestWakeWaitsForDialog(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"own", "tmux"} {
		t.Run(way, func(t *testing.T) {
			on(t, "claude codex", func(t *testing.T, c cli) {
				ask := stubmodel.Shell("touch ../asked")
				var open []string
				if c.name == "codex" {
					ask = stubmodel.Use("exec_command", map[string]any{"cmd": "touch asked", "sandbox_permissions": "require_escalated", "justification": "to ask"})
					open = []string{"-a", "on-request", "-s", "read-only"}
				}
				u := newUser(t, goodMorning(stubmodel.Rule{When: "do it now", Once: true, Then: ask}))
				w := u.wakeable(c, open, func(s *seat) { s.guarded = true })
				if way == "tmux" {
					w.ok("agent", "set", "coder", "--notify", "tmux", "--office", w.office)
				}
				w.prompt("do it now")
				w.waitScreen("the question", func(s string) bool {
					return strings.Contains(s, "Esc to cancel") || strings.Contains(s, "esc to cancel")
				})
				w.presence("dialog")
				before := w.screen()
				r := w.send("a subject")
				if r.exit != 3 || !strings.Contains(r.out, "not yet surfaced") || !strings.Contains(r.out, "open") {
					t.Fatalf("%v", r)
				}
				if after := w.screen(); !sameQuestion(before, after) {
					t.Errorf("the screen changed from\n%s\nto\n%s", before, after)
				}
				if n := w.wakes(); n != 0 {
					t.Errorf("%d wakes", n)
				}
				until(t, "the answer, which is yes", func() bool { // a key too close behind the question is not taken
					w.keys("Enter")
					time.Sleep(300 * time.Millisecond)
					return !strings.Contains(strings.ToLower(w.screen()), "esc to cancel")
				})
				u.await("the mail with the tool's result", func(r stubmodel.Request) bool { return r.Agent == "coder" && len(r.Roles("new message")) > 0 })
			})
		})
	}
}

// sameQuestion compares screens but for spinners and clocks.
func sameQuestion(a, b string) bool {
	tail := func(s string) string {
		lines := strings.Split(strings.TrimSpace(s), "\n")
		return strings.Join(lines[max(0, len(lines)-4):], "\n")
	}
	return tail(a) == tail(b)
}

// After the person's Esc nothing is queued for Codex; its next turn shows the
// mail.
func TestNotQueuedAfterEsc(t *testing.T) {
	t.Parallel()
	on(t, "codex", func(t *testing.T, c cli) {
		never := make(chan struct{})
		defer close(never)
		u := newUser(t, goodMorning(stubmodel.Rule{When: "think long", Once: true, Then: stubmodel.Say("never").After(never)}))
		w := u.wakeable(c, nil, nil)
		w.prompt("think long")
		w.presence("busy")
		w.keys("Escape")
		w.presence("interrupted")
		r := w.send("a subject")
		if r.exit != 3 || !strings.Contains(r.out, "its person stopped it") {
			t.Fatalf("%v", r)
		}
		w.prompt("go on please")
		u.await("the mail in the next turn", func(r stubmodel.Request) bool {
			return r.Agent == "coder" && r.NewestHas("go on please") && len(r.Roles("new message")) > 0
		})
		if n := w.wakes(); n != 0 {
			t.Errorf("%d wakes", n)
		}
	})
}

// The last resort: one line, typed into an empty prompt of the real program.
func TestTmuxWake(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, goodMorning())
		w := u.wakeable(c, nil, nil)
		w.ok("agent", "set", "coder", "--notify", "tmux", "--office", w.office)
		w.typed("half a draft")
		if r := w.send("a draft is there"); r.exit != 3 || !strings.Contains(r.out, "something else is typed") {
			t.Fatalf("%v", r)
		}
		if !strings.Contains(w.screen(), "half a draft") || strings.Contains(w.screen(), "Postroom") {
			t.Fatalf("the draft was touched:\n%s", w.screen())
		}
		w.keys("C-u")
		w.waitScreen("an empty prompt", func(s string) bool { return !strings.Contains(s, "half a draft") })
		start := time.Now()
		r := w.ok("renotify", "--as", "ann", "--office", w.office)
		if !strings.Contains(r.out, "typed into") {
			raw, _ := os.ReadFile(w.office + "/agents/coder/presence.json")
			t.Logf("presence: %s", raw)
			t.Fatalf("%v", r)
		}
		u.await("the wake", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("to see your new mail") })
		t.Logf("%s: %s after %v", c.name, strings.TrimSpace(r.out), time.Since(start))
	})
}
