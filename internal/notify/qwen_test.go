package notify_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"github.com/postroom/postroom/internal/presence"
)

// qwenAgent is a session whose hooks tell of a turn as soon as its input file
// has something, unless it is mute.
func qwenAgent(t *testing.T, mute *atomic.Bool) (notify.Agent, func() []string) {
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := func() []string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[:strings.Count(string(data), "\n")]
	}
	s := presence.Session{Runtime: "qwen", ID: "q-1", State: presence.Idle, At: time.Unix(1e9, 0)}
	a := notify.Agent{Notify: []string{notify.KindQwen, file}, Session: &s}
	a.Look = func() *presence.Session {
		now := s
		if len(lines()) > 0 && !mute.Load() {
			now.State, now.At = presence.Busy, time.Now()
		}
		return &now
	}
	return a, lines
}

func TestQwenContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		var mute atomic.Bool
		a, lines := qwenAgent(t, &mute)
		return notifytest.Fixture{
			Adapter: notify.Qwen{}, Agent: a, Seen: lines,
			Refuse: func() { a.Session.State = presence.Dialog }, Hang: func() { mute.Store(true) },
		}
	})
}

func TestQwenGates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(*notify.Agent)
		state notify.State
		say   string
	}{
		{"a turn", func(a *notify.Agent) { a.Session.State = presence.Busy }, notify.Held, "a turn runs"},
		{"ended", func(a *notify.Agent) { a.Session.State = presence.Ended }, notify.Failed, "no live session"},
		{"not seen", func(a *notify.Agent) { a.Session = nil }, notify.Failed, "not seen yet"},
		{"no file registered", func(a *notify.Agent) { a.Notify = a.Notify[:1] }, notify.Failed, "no input file"},
		{"a file that is gone", func(a *notify.Agent) { a.Notify[1] += "-gone" }, notify.Failed, "no such file"},
		{"a directory", func(a *notify.Agent) { a.Notify[1] = filepath.Dir(a.Notify[1]) }, notify.Failed, "no regular file"},
	} {
		var mute atomic.Bool
		a, lines := qwenAgent(t, &mute)
		a.Name = "coder"
		test.spoil(&a)
		out, _ := notify.Qwen{}.Notify(bounded(t, time.Minute), a, notifytest.Pointer(t, "coder"))
		if out.State != test.state || !strings.Contains(out.Evidence, test.say) {
			t.Errorf("%s: %+v, want %s with %q", test.name, out, test.state, test.say)
		}
		if got := lines(); len(got) > 0 {
			t.Errorf("%s: written %q", test.name, got)
		}
	}
}
