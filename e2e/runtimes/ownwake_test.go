//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// seated starts a CLI in a terminal after post install and nothing else, woken
// as post join does by itself, and has it say hello.
func (u *user) seated(c cli, open ...string) woken {
	u.t.Helper()
	s := u.sit("coder", c)
	s.join("--runtime", s.cli.name)
	return s.seated(open...)
}

// seated is the same for an agent that joined already.
func (s *seat) seated(open ...string) woken {
	s.t.Helper()
	s.onPath()
	s.install()
	w := woken{s.open(open...)}
	w.begins("good morning")
	w.shows("hello there")
	w.rest()
	return w
}

// wakeRules has the model look into the inbox when it is woken, and read.
func wakeRules(more ...stubmodel.Rule) stubmodel.Script {
	return stubmodel.Rules(append(more,
		stubmodel.Rule{When: "good morning", Once: true, Then: stubmodel.Say("hello there")},
		stubmodel.Rule{When: "Postroom: 1 new message", Once: true, Then: stubmodel.Shell("post read next")},
		stubmodel.Rule{When: "the body of", Then: stubmodel.Say("I have read it")},
	)...)
}

// OpenCode's plugin sees the inbox change, and starts one turn.
func TestPluginWake(t *testing.T) {
	t.Parallel()
	on(t, "opencode", func(t *testing.T, c cli) {
		never := make(chan struct{})
		defer close(never)
		u := newUser(t, wakeRules(stubmodel.Rule{When: "think long", Once: true, Then: stubmodel.Say("never").After(never)}))
		w := u.seated(c)
		start := time.Now()
		r := w.send("a subject")
		t.Logf("%v", r)
		u.await("the wake", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("Postroom: 1 new message") })
		t.Logf("the sender knew after %v, the model had the wake after %v", r.took, time.Since(start))
		if r.exit == 0 && !strings.Contains(r.out, "notified: opencode") {
			t.Errorf("%v", r)
		}
		w.shows("I have read it")
		w.rest()
		if n := w.wakes(); n != 1 {
			t.Errorf("%d wakes", n)
		}
		if roles := u.model.Roles("the body of"); !slices.Equal(roles, []stubmodel.Role{stubmodel.ToolRole}) {
			t.Errorf("the body came as %v", roles)
		}
		if list := w.events(w.firstShown()); !slices.Equal(list, []string{"surfaced", "read"}) {
			t.Errorf("%v", list)
		}
		// The person stops a turn: nobody pushes it on.
		w.begins("think long")
		// It asks for a second Escape, and says "interrupted" for ever then.
		w.press("Escape", "the turn stopped", func() bool { return w.is("interrupted") })
		w.presence("interrupted")
		if r := w.send("another subject"); r.exit != 3 || !strings.Contains(r.out, "its person stopped it") {
			t.Errorf("%v", r)
		}
		if r := w.begins("go on please"); !r.NewestHas("1 new message for you") {
			t.Errorf("%v", r.Newest())
		}
		w.rest()
		// It ends: its plugin says so, and the mail waits.
		w.keys("C-c")
		w.presence("ended")
		if r := w.send("the last subject"); r.exit != 3 {
			t.Errorf("%v", r)
		}
	})
}

// Qwen Code takes a prompt from the file that it was started with, between two
// turns; while one runs, nothing is written and its hooks show the mail.
func TestInputFileWake(t *testing.T) {
	t.Parallel()
	on(t, "qwen", func(t *testing.T, c cli) {
		open := make(chan struct{})
		u := newUser(t, wakeRules(stubmodel.Rule{When: "work now", Once: true, Then: stubmodel.Shell("true").After(open)},
			stubmodel.Rule{When: "new message for you", Once: true, Then: stubmodel.Say("seen at work")}))
		s := u.sit("coder", c)
		file := filepath.Join(s.home, "prompts")
		write(t, "", file)
		s.join("--runtime", c.name, "--notify", "qwen:"+file)
		w := s.seated("--input-file", file)
		start := time.Now()
		r := w.send("a subject")
		// It drops what it reads before it is at rest, and says nothing of it.
		for n := 0; n < 5 && r.exit == 3 && strings.Contains(r.out, "no turn began"); n++ {
			r = w.post("renotify", "coder", "--as", "ann", "--office", w.office)
		}
		if r.exit != 0 || !strings.Contains(r.out, "qwen: ") && !strings.Contains(r.out, "notified: qwen") {
			t.Errorf("%v", r)
		}
		u.await("the wake", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("Postroom: 1 new message") })
		t.Logf("the sender knew after %v, the model had the wake after %v", r.took, time.Since(start))
		w.shows("I have read it")
		w.rest()
		if n := w.wakes(); n != 1 {
			t.Errorf("%d wakes", n)
		}
		if list := w.events(w.firstShown()); !slices.Equal(list, []string{"surfaced", "read"}) {
			t.Errorf("%v", list)
		}
		w.begins("work now")
		if r := w.send("another subject"); r.exit != 3 || !strings.Contains(r.out, "a turn runs") {
			t.Errorf("%v", r)
		}
		close(open)
		w.shows("seen at work")
		w.rest()
		if roles := u.model.Roles("the body of a subject"); !slices.Equal(roles, []stubmodel.Role{stubmodel.ToolRole}) {
			t.Errorf("the body came as %v", roles)
		}
	})
}

// Copilot's extension sees the inbox change, and starts one turn; not after its
// person stopped it. It is loaded with --experimental only.
func TestExtensionWake(t *testing.T) {
	t.Parallel()
	on(t, "copilot", func(t *testing.T, c cli) {
		never := make(chan struct{})
		defer close(never)
		u := newUser(t, wakeRules(stubmodel.Rule{When: "think long", Once: true, Then: stubmodel.Say("never").After(never)}))
		w := u.seated(c, "--experimental")
		start := time.Now()
		r := w.send("a subject")
		t.Logf("%v", r)
		u.await("the wake", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("Postroom: 1 new message") })
		t.Logf("the sender knew after %v, the model had the wake after %v", r.took, time.Since(start))
		if r.exit == 0 && !strings.Contains(r.out, "notified: copilot") {
			t.Errorf("%v", r)
		}
		w.shows("I have read it")
		w.rest()
		if n := w.wakes(); n != 1 {
			t.Errorf("%d wakes", n)
		}
		if list := w.events(w.firstShown()); !slices.Equal(list, []string{"surfaced", "read"}) {
			t.Errorf("%v", list)
		}
		w.begins("think long")
		w.shows("Working")
		w.keys("C-c") // Escape does nothing while the model is silent
		w.presence("interrupted")
		if r := w.send("another subject"); r.exit != 3 || !strings.Contains(r.out, "its person stopped it") {
			t.Errorf("%v", r)
		}
		if r := w.begins("go on please"); !r.NewestHas("1 new message for you") {
			t.Errorf("%v", r.Newest())
		}
		w.rest()
		if roles := u.model.Roles("the body of a subject"); !slices.Equal(roles, []stubmodel.Role{stubmodel.ToolRole}) {
			t.Errorf("the body came as %v", roles)
		}
	})
}

// Gemini CLI has no way of its own to be woken: one line is typed into an empty
// prompt, never beside a draft nor at a question.
func TestTypedWake(t *testing.T) {
	t.Parallel()
	on(t, "gemini", func(t *testing.T, c cli) {
		u := newUser(t, wakeRules(
			stubmodel.Rule{When: "to see your new mail", Once: true, Then: stubmodel.Say("I see there is mail")},
			stubmodel.Rule{When: "do it now", Once: true, Then: stubmodel.Shell("touch asked")}))
		s := u.sitGuarded("coder", c)
		s.join("--runtime", c.name, "--notify", "tmux")
		w := s.seated()
		w.waitScreen("the end of the turn", func(s string) bool { return !strings.Contains(s, "esc to cancel") }) // its hooks say so first
		w.typed("half a draft")
		if r := w.send("a draft is there"); r.exit != 3 || !strings.Contains(r.out, "something else is typed") {
			t.Fatalf("%v", r)
		}
		if !strings.Contains(w.screen(), "half a draft") || strings.Contains(w.screen(), "Postroom: run") {
			t.Fatalf("the draft was touched:\n%s", w.screen())
		}
		w.keys("C-u")
		w.waitScreen("an empty prompt", func(s string) bool { return !strings.Contains(s, "half a draft") })
		start := time.Now()
		if r := w.ok("renotify", "--as", "ann", "--office", w.office); !strings.Contains(r.out, "typed into") {
			t.Fatalf("%v", r)
		}
		w.shows("I see there is mail")
		t.Logf("typed and answered after %v", time.Since(start))
		w.rest()
		if list := w.events(w.firstShown()); !slices.Equal(list, []string{"surfaced"}) {
			t.Errorf("%v", list)
		}
		w.prompt("do it now")
		w.shows(questions()[c.name].text)
		w.presence("dialog")
		before := w.screen()
		if r := w.send("another subject"); r.exit != 3 || !strings.Contains(r.out, "a permission question is open") {
			t.Errorf("%v", r)
		}
		if after := w.screen(); !strings.Contains(after, questions()[c.name].text) || strings.Count(after, "to see your new mail") != strings.Count(before, "to see your new mail") {
			t.Errorf("the screen changed from\n%s\nto\n%s", before, after)
		}
	})
}

// "opencode run" ends with its turn: its agent is named by the environment, mail
// is shown to it, and it is not kept from ending.
func TestPluginRun(t *testing.T) {
	t.Parallel()
	on(t, "opencode", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(
			stubmodel.Rule{When: "good morning", Once: true, Then: stubmodel.Shell("post where")},
			stubmodel.Rule{When: "agent", Once: true, Then: stubmodel.Say("good evening")}))
		s := u.sit("coder", c)
		s.onPath()
		s.join("--runtime", c.name)
		s.install()
		w := woken{&terminal{seat: s}}
		id := w.mailed("a subject", "a body")
		s.more = append(s.more, "POSTROOM_AGENT=coder", "POSTROOM_OFFICE="+s.office)
		r := s.ask("good morning")
		turns := u.model.Turns("coder")
		if r.exit != 0 || !strings.Contains(r.out, "good evening") || len(turns) != 2 {
			t.Fatalf("%d turns: %v", len(turns), r)
		}
		if !turns[0].Has("In it you are coder") || !turns[0].Has("1 unread message") || !turns[1].NewestHas("coder") {
			t.Errorf("%v\n%v", turns[0].Newest(), turns[1].Newest())
		}
		if list := w.events(id); !slices.Equal(list, []string{"surfaced"}) {
			t.Errorf("%v", list)
		}
		w.presence("ended")
	})
}

// firstShown is the id of the first message that the agent was shown.
func (w woken) firstShown() string {
	w.t.Helper()
	raw, err := os.ReadFile(w.office + "/agents/coder/receipts.jsonl")
	must(w.t, err)
	var r struct{ ID string }
	first, _, _ := strings.Cut(string(raw), "\n")
	must(w.t, json.Unmarshal([]byte(first), &r))
	return r.ID
}

// Forty messages in a second are one wake of the session's own plugin.
func TestPluginForty(t *testing.T) {
	t.Parallel()
	on(t, "opencode", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(
			stubmodel.Rule{When: "good morning", Once: true, Then: stubmodel.Say("hello there")},
			stubmodel.Rule{When: "Postroom: ", Once: true, Then: stubmodel.Shell("post inbox")}))
		w := u.seated(c)
		w.someone()
		var wg sync.WaitGroup
		for n := range 40 {
			wg.Go(func() {
				cmd := exec.Command(given.Programs+"/post", "send", "coder", "--as", "ann", "--office", w.office, "-s", "subject "+strconv.Itoa(n), "-m", "m"+strconv.Itoa(n))
				cmd.Dir, cmd.Env = w.root+"/work", w.user.env
				_ = cmd.Run()
			})
		}
		wg.Wait()
		until(t, "all shown", func() bool { return w.shown() == 40 })
		w.rest()
		if n := w.told("new messages: run") + w.told("new message: run"); n != 1 {
			t.Errorf("%d wakes", n)
		}
	})
}

// A question is open: no turn is started, the mail waits for the answer.
func TestPluginWaitsForDialog(t *testing.T) {
	t.Parallel()
	on(t, "opencode", func(t *testing.T, c cli) {
		u := newUser(t, wakeRules(stubmodel.Rule{When: "do it now", Once: true, Then: stubmodel.Shell("touch /tmp/asked")}))
		s := u.sitGuarded("coder", c)
		s.join("--runtime", c.name)
		w := s.seated()
		w.prompt("do it now")
		w.shows(questions()[c.name].text)
		w.presence("dialog")
		if r := w.send("a subject"); r.exit != 3 || !strings.Contains(r.out, "a permission question is open") {
			t.Errorf("%v", r)
		}
		if n := w.wakes(); n != 0 {
			t.Errorf("%d wakes", n)
		}
		w.keys("Enter") // the first answer is yes
		u.await("the mail with the tool's result", func(r stubmodel.Request) bool { return r.Agent == "coder" && r.NewestHas("new message for you") })
	})
}
