package notify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"github.com/postroom/postroom/internal/presence"
)

const codexID = "01a22d26-df1d-7fc2-a95f-1954e9ffe6bf"

// codexAgent is woken through the test binary as the codex program: it is told
// by its workspace where it plays.
func codexAgent(g target) notify.Agent {
	return notify.Agent{Notify: []string{notify.KindCodex, g.script()}, Session: &presence.Session{
		Runtime: "codex", ID: codexID, State: presence.Idle, At: time.Now(),
	}}
}

func TestCodexContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		g := newTarget(t)
		return notifytest.Fixture{
			Adapter: notify.Codex{}, Agent: codexAgent(g), Seen: g.seen,
			Refuse: func() { g.mode("refuse") }, Hang: func() { g.mode("hang") },
		}
	})
}

func TestCodexQueues(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	env := map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/h", "CODEX_HOME": "/h/codex", "CODEX_THREAD_ID": "other", "OPENAI_API_KEY": "secret"}
	a := codexAgent(g)
	a.Name = "coder"
	p := notifytest.Pointer(t, "coder")
	p.Count = 9
	c := notify.Codex{Getenv: func(k string) string { return env[k] }}
	if out, err := c.Notify(bounded(t, time.Minute), a, p); out.State != notify.Notified || err != nil || !strings.Contains(out.Evidence, "accepted") {
		t.Fatalf("%+v, %v", out, err)
	}
	got := g.one()
	want := []string{"queue", "--thread", codexID, "--message",
		"Postroom: " + p.Text + " [" + string(p.IDs[0]) + ", " + string(p.IDs[1]) + ", and 7 more]"}
	if !slices.Equal(got.Args, want) {
		t.Errorf("arguments %q, want %q", got.Args, want)
	}
	for _, kv := range got.Env {
		if strings.Contains(kv, "secret") || strings.HasPrefix(kv, "CODEX_THREAD_ID=") {
			t.Errorf("environment has %s", kv)
		}
	}
	for _, kv := range []string{"HOME=/h", "CODEX_HOME=/h/codex", "PATH=/usr/bin:/bin"} {
		if !slices.Contains(got.Env, kv) {
			t.Errorf("environment lacks %s", kv)
		}
	}
}

func TestCodexGates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(*notify.Agent)
		state notify.State
		say   string
	}{
		{"not seen", func(a *notify.Agent) { a.Session = nil }, notify.Failed, "not seen yet: type once in it"},
		{"exec", func(a *notify.Agent) { a.Session.OneShot = true }, notify.Failed, "one prompt"},
		{"ended", func(a *notify.Agent) { a.Session.State = presence.Ended }, notify.Failed, "no live session"},
		{"Esc", func(a *notify.Agent) { a.Session.State = presence.Interrupted }, notify.Held, "its person stopped it"},
		{"a question", func(a *notify.Agent) { a.Session.State = presence.Dialog }, notify.Held, "permission question"},
		{"a turn", func(a *notify.Agent) { a.Session.State = presence.Busy }, notify.Held, "a turn runs"},
		{"an option for an id", func(a *notify.Agent) { a.Session.ID = "--remote=ws://x" }, notify.Failed, "id is not one of codex"},
		{"a session of claude", func(a *notify.Agent) { a.Session.Runtime = "claude" }, notify.Failed, "one of claude"},
		{"no program", func(a *notify.Agent) { a.Notify = a.Notify[:1] }, notify.Failed, "no codex on PATH"},
		{"a relative program", func(a *notify.Agent) { a.Notify[1] = "codex" }, notify.Failed, "relative"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newTarget(t)
			a := codexAgent(g)
			a.Name = "coder"
			test.spoil(&a)
			c := notify.Codex{Getenv: func(string) string { return "" }}
			out, _ := c.Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
			if out.State != test.state || !strings.Contains(out.Evidence, test.say) {
				t.Errorf("%+v, want %s with %q", out, test.state, test.say)
			}
			if got := g.seen(); len(got) > 0 {
				t.Errorf("queued %q", got)
			}
		})
	}
	// A turn of which nothing was heard for long is no reason to wait.
	g := newTarget(t)
	a := codexAgent(g)
	a.Name, a.Session.State, a.Session.At = "coder", presence.Busy, time.Now().Add(-time.Hour)
	if out, err := (notify.Codex{}).Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder")); out.State != notify.Notified || err != nil {
		t.Errorf("after a killed turn: %+v, %v", out, err)
	}
}

func TestOwnAdaptersCheckArguments(t *testing.T) {
	t.Parallel()
	table := notify.NewTable(notify.None{}, notify.Claude{}, notify.Codex{})
	program := newTarget(t).script()
	for _, test := range []struct {
		in  []string
		say string
	}{
		{[]string{"claude"}, ""},
		{[]string{"claude", "x"}, "takes no arguments"},
		{[]string{"codex"}, ""},
		{[]string{"codex", program}, ""},
		{[]string{"codex", "codex"}, "no program"},
		{[]string{"codex", "/nowhere/codex"}, "no program"},
		{[]string{"codex", program, "x"}, "one argument"},
	} {
		got, err := table.Check(test.in)
		if test.say == "" && (err != nil || !slices.Equal(got, test.in)) || test.say != "" && (err == nil || !strings.Contains(err.Error(), test.say)) {
			t.Errorf("%q: %q, %v", test.in, got, err)
		}
	}
}
