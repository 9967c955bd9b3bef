package standing

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/roster"
)

func TestPresence(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	before := func(d time.Duration) time.Time { return now.Add(-d) }
	session := func(state presence.State, d time.Duration) *presence.Session {
		return &presence.Session{State: state, PID: 7, Since: before(d), At: before(d)}
	}
	started := func(alive bool, state roster.State, d time.Duration) *roster.Status {
		return &roster.Status{Record: roster.Record{State: state, At: before(d)}, Alive: alive, Ended: "exit status 1"}
	}
	for _, c := range []struct {
		what     string
		s        sighting
		want     string
		evidence string
	}{
		{"nothing", sighting{}, NotSeen, ""},
		{"codex before its first turn", sighting{runtime: "codex"}, NotSeen, "type once in it"},
		{"codex, started here", sighting{runtime: "codex", started: started(true, roster.Running, time.Minute)}, NotSeen, "type once in it"},
		{"started, silent", sighting{started: started(true, roster.Running, time.Minute)}, NotSeen, "started 1m ago"},
		{"being started", sighting{started: started(false, roster.Starting, time.Second)}, NotSeen, ""},
		{"started, ended", sighting{started: started(false, roster.Ended, time.Minute)}, Down, "exit status 1"},
		{"ended, then seen elsewhere", sighting{started: started(false, roster.Ended, time.Hour), seen: before(time.Minute)}, Active, "used its mail 1m"},
		{"mail only, now", sighting{seen: before(time.Minute)}, Active, "used its mail"},
		{"mail only, today", sighting{seen: before(time.Hour)}, Idle, "used its mail"},
		{"mail only, long ago", sighting{seen: before(30 * time.Hour)}, Stale, "used its mail"},
		{"at its prompt", sighting{session: session(presence.Idle, time.Minute), life: Runs}, Active, "at its prompt"},
		{"at its prompt since yesterday", sighting{session: session(presence.Idle, 50*time.Hour), life: Runs}, Idle, "process 7 runs"},
		{"a daemon's session since yesterday", sighting{session: session(presence.Idle, 50*time.Hour)}, Stale, "last heard 2d ago"},
		{"a turn", sighting{session: session(presence.Busy, 3*time.Hour), life: Runs}, Busy, "a turn began 3h ago"},
		{"a turn in a daemon", sighting{session: session(presence.Busy, time.Minute)}, Busy, "a turn"},
		{"a turn in a daemon, not heard of again", sighting{session: session(presence.Busy, 3*time.Hour)}, Idle, "last heard 3h"},
		{"a dialog", sighting{session: session(presence.Dialog, time.Hour), life: Runs}, AtDialog, "permission question"},
		{"Esc", sighting{session: session(presence.Interrupted, time.Hour), life: Runs}, Idle, "interrupted by its person"},
		{"ended", sighting{session: session(presence.Ended, time.Hour)}, Down, "ended 1h ago"},
		{"killed in a turn", sighting{session: session(presence.Busy, time.Hour), life: Gone}, Down, "process 7, which ran its session, is gone"},
		{"killed, and its mail was read just before", sighting{session: session(presence.Busy, time.Hour), life: Gone, seen: before(time.Hour - time.Second)}, Down, "gone"},
		{"ended, and another session without hooks", sighting{session: session(presence.Ended, time.Hour), seen: before(time.Minute)}, Active, "after the session"},
	} {
		c.s.now = now
		got, evidence := c.s.presence()
		if got != c.want || !strings.Contains(evidence, c.evidence) || c.evidence == "" && evidence != "" {
			t.Errorf("%s: %s, %q", c.what, got, evidence)
		}
	}
}

func TestLives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    presence.Session
		want Life
	}{
		{presence.Session{PID: 42, Start: "99"}, Runs},
		{presence.Session{PID: 42, Start: "98"}, Gone},
		{presence.Session{PID: 43, Start: "99"}, Gone},
		{presence.Session{PID: 42}, Unknown},
		{presence.Session{}, Unknown},
	} {
		if got := Lives(tree{}, c.p); got != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}

// tree is a system with one process: 42, which started at 99.
type tree struct{ identity.ProcessTree }

func (tree) Process(pid int) (identity.Process, bool) {
	return identity.Process{PID: 42, Start: "99"}, pid == 42
}
