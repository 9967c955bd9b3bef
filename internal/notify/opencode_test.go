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
		after presence.State // what the plugin's hook says next; "" is nothing
		dead  bool
		state notify.State
		say   string
	}{
		{"its plugin saw it", nil, presence.Busy, false, notify.Notified, "its own session saw the mailbox change (file.changed)"},
		{"its plugin says nothing", nil, "", false, notify.Pending, "its plugin watches the mailbox since"},
		{"it saw it before anybody looked", func(a *notify.Agent) {
			a.Session.State, a.Session.Event, a.Session.At = presence.Busy, "file.changed", time.Now()
		}, "", false, notify.Notified, "saw the mailbox change at"},
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
					now.State, now.Event, now.At = test.after, "file.changed", time.Now()
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
	if _, err := (notify.OpenCode{}).Check([]string{"x"}); err == nil {
		t.Error("it takes an argument")
	}
	bad := notifytest.Pointer(t, "coder")
	bad.Office = "x\ny"
	if out, err := (notify.OpenCode{}).Notify(bounded(t, time.Second), notify.Agent{}, bad); err == nil || out.State != notify.Failed {
		t.Errorf("%+v", out)
	}
}
