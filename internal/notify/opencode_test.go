package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"github.com/postroom/postroom/internal/presence"
)

// Nothing is sent to OpenCode: its plugin watches. What the adapter says is what
// the plugin's hook said, and no more.
func TestOpenCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(*notify.Agent)
		after string // the event that the plugin's hook names next; "" is none
		dead  bool
		state notify.State
		say   string
	}{
		{"its plugin started a turn", nil, "turn.start", false, notify.Notified, "saw the mailbox change, and a turn began"},
		{"its plugin saw it, no more", nil, "file.changed", false, notify.Pending, "no turn has begun yet"},
		{"its plugin says nothing", nil, "", false, notify.Pending, "its plugin watches the mailbox since"},
		{"it saw it before anybody looked", func(a *notify.Agent) {
			a.Session.State, a.Session.Event = presence.Busy, "file.changed"
		}, "turn.start", false, notify.Notified, "a turn began"},
		{"a turn", func(a *notify.Agent) { a.Session.State = presence.Busy }, "", false, notify.Held, "a turn runs"},
		{"a question", func(a *notify.Agent) { a.Session.State = presence.Dialog }, "", false, notify.Held, "a permission question is open"},
		{"Esc", func(a *notify.Agent) { a.Session.State = presence.Interrupted }, "", false, notify.Held, "its person stopped it"},
		{"ended", func(a *notify.Agent) { a.Session.State = presence.Ended }, "", false, notify.Failed, "no live session"},
		{"killed", nil, "", true, notify.Failed, "no live session: its process 7 is gone"},
		{"not seen", func(a *notify.Agent) { a.Session = nil }, "", false, notify.Failed, "not seen yet"},
		{"another's", func(a *notify.Agent) { a.Session.Runtime = "codex" }, "", false, notify.Failed, "one of codex"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := presence.Session{Runtime: "opencode", ID: "ses_1", PID: 7, Start: "s7", State: presence.Idle, Since: time.Unix(1e9, 0), At: time.Unix(1e9, 0)}
			a := notify.Agent{Name: "coder", Notify: []string{notify.KindOpenCode}, Session: &s}
			a.Look = func() *presence.Session {
				now := s
				if test.after != "" {
					now.State, now.Event, now.At = presence.Busy, test.after, time.Now()
				}
				return &now
			}
			if test.spoil != nil {
				test.spoil(&a)
			}
			o := notify.OpenCode{Alive: func(pid int, start string) bool { return pid == 7 && start == "s7" && !test.dead }}
			out, _ := o.Notify(bounded(t, time.Second), a, notifytest.Pointer(t, "coder"))
			if out.State != test.state || !strings.Contains(out.Evidence, test.say) {
				t.Errorf("%+v, want %s with %q", out, test.state, test.say)
			}
		})
	}
	s := presence.Session{Runtime: "copilot", ID: "c1", State: presence.Idle, At: time.Unix(1e9, 0)}
	a := notify.Agent{Name: "coder", Notify: []string{notify.KindCopilot}, Session: &s, Look: func() *presence.Session { return &s }}
	if out, _ := (notify.Copilot{}).Notify(bounded(t, time.Second), a, notifytest.Pointer(t, "coder")); out.State != notify.Pending ||
		!strings.Contains(out.Evidence, "if it was started with --experimental, since") && !strings.Contains(out.Evidence, "--experimental, and has not") {
		t.Errorf("%+v", out)
	}
	if _, err := (notify.OpenCode{}).Check([]string{"x"}); err == nil {
		t.Error("it takes an argument")
	}
	bad := notifytest.Pointer(t, "coder")
	bad.Office = "x\ny"
	if out, err := (notify.OpenCode{}).Notify(bounded(t, time.Second), notify.Agent{}, bad); err == nil || out.State != notify.Failed {
		t.Errorf("%+v", out)
	}
}
