package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/standing"
)

// The agents on a wide and on a narrow terminal, as people see them.
func TestAgentTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	before := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	views := []standing.Agent{
		{Name: "coder", Runtime: "claude", Presence: standing.Busy, LastSeen: before(time.Minute), Unread: 3, Oldest: before(5 * time.Minute), Owes: 1,
			Notify: []string{"claude"}, Wake: &standing.Wake{Kind: "claude", State: standing.WakeOK}, Workspace: "/home/me/src/payments/backend"},
		{Name: "docs", Runtime: "codex", Presence: standing.NotSeen, Evidence: "type once in it", Notify: []string{"codex"},
			Wake: &standing.Wake{Kind: "codex", State: standing.WakeNoSession}, Workspace: "/home/me/src/docs"},
		{Name: "researcher", Runtime: "claude", Presence: standing.AtDialog, Evidence: "a permission question has been open since 9m ago", LastSeen: before(9 * time.Minute), Unread: 12,
			Oldest: before(3 * time.Hour), Owes: 2, Overdue: 1, Behind: "its oldest unread mail is 3h old, and 1 answer is overdue", Notify: []string{"claude"},
			Wake: &standing.Wake{Kind: "claude", State: standing.WakeHeld, Evidence: "a dialog is open"}, Workspace: "/srv/team/researcher"},
		{Name: "runner", Presence: standing.Down, LastSeen: before(50 * time.Hour), Notify: []string{"exec", "/usr/local/bin/wake"},
			Wake: &standing.Wake{Kind: "exec", State: standing.WakeFailing, Evidence: "exit status 1"}, Workspace: "/srv/run"},
	}
	for width, want := range map[int]string{120: wide120, 80: narrow80} {
		var b strings.Builder
		e := &Env{Getenv: func(k string) string { return map[string]string{"HOME": "/home/me"}[k] }, Out: newOutput(&b), System: office.System{Now: func() time.Time { return now }}}
		e.Out.width = width
		e.agentTable(views)
		e.Out.Flush()
		if b.String() != want {
			t.Errorf("at %d columns:\n%s", width, b.String())
		}
		table, _, _ := strings.Cut(b.String(), "\n\n")
		for line := range strings.Lines(table) {
			if n := columns(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns at %d: %s", n, width, line)
			}
		}
	}
}

const notesBelow = `
docs: not seen yet: type once in it
researcher: a permission question has been open since 9m ago; behind: its oldest unread mail is 3h old, and 1 answer is overdue; woken by claude, which waits: a dialog is open
runner: woken by exec, which fails: exit status 1
`

const wide120 = `NAME        RUNTIME  PRESENCE                  UNREAD  OLDEST  OWES  WOKEN BY                          WORKSPACE
coder       claude   busy (1m)                 3       5m      1     claude (works)                    …payments/backend
docs        codex    not seen yet              0       -       0     codex (no session)                ~/src/docs
researcher  claude   at a dialog (9m), behind  12      3h      2     claude (held)                     …/team/researcher
runner      -        down (2d)                 0       -       0     exec /usr/local/bin/wake (fails)  /srv/run
` + notesBelow

const narrow80 = `NAME        PRESENCE                  UNREAD   OWES  WOKEN BY
coder       busy (1m)                 3 (5m)   1     claude (works)
docs        not seen yet              0        0     codex (no session)
researcher  at a dialog (9m), behind  12 (3h)  2     claude (held)
runner      down (2d)                 0        0     exec (fails)
` + notesBelow
