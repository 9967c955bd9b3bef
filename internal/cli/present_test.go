package cli

import (
	"strings"
	"testing"
	"time"

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
		{"nothing", sighting{}, notSeen, ""},
		{"codex before its first turn", sighting{runtime: "codex"}, notSeen, "type once in it"},
		{"codex, started here", sighting{runtime: "codex", started: started(true, roster.Running, time.Minute)}, notSeen, "type once in it"},
		{"started, silent", sighting{started: started(true, roster.Running, time.Minute)}, notSeen, "started 1m ago"},
		{"being started", sighting{started: started(false, roster.Starting, time.Second)}, notSeen, ""},
		{"started, ended", sighting{started: started(false, roster.Ended, time.Minute)}, isDown, "exit status 1"},
		{"ended, then seen elsewhere", sighting{started: started(false, roster.Ended, time.Hour), seen: before(time.Minute)}, isActive, "used its mail 1m"},
		{"mail only, now", sighting{seen: before(time.Minute)}, isActive, "used its mail"},
		{"mail only, today", sighting{seen: before(time.Hour)}, isIdle, "used its mail"},
		{"mail only, long ago", sighting{seen: before(30 * time.Hour)}, isStale, "used its mail"},
		{"at its prompt", sighting{session: session(presence.Idle, time.Minute), life: alive}, isActive, "at its prompt"},
		{"at its prompt since yesterday", sighting{session: session(presence.Idle, 50*time.Hour), life: alive}, isIdle, "process 7 runs"},
		{"a daemon's session since yesterday", sighting{session: session(presence.Idle, 50*time.Hour)}, isStale, "last heard 2d ago"},
		{"a turn", sighting{session: session(presence.Busy, 3*time.Hour), life: alive}, isBusy, "a turn began 3h ago"},
		{"a turn in a daemon", sighting{session: session(presence.Busy, time.Minute)}, isBusy, "a turn"},
		{"a turn in a daemon, not heard of again", sighting{session: session(presence.Busy, 3*time.Hour)}, isIdle, "last heard 3h"},
		{"a dialog", sighting{session: session(presence.Dialog, time.Hour), life: alive}, atDialog, "permission question"},
		{"Esc", sighting{session: session(presence.Interrupted, time.Hour), life: alive}, isIdle, "interrupted by its person"},
		{"ended", sighting{session: session(presence.Ended, time.Hour)}, isDown, "ended 1h ago"},
		{"killed in a turn", sighting{session: session(presence.Busy, time.Hour), life: dead}, isDown, "process 7, which ran its session, is gone"},
		{"killed, and its mail was read just before", sighting{session: session(presence.Busy, time.Hour), life: dead, seen: before(time.Hour - time.Second)}, isDown, "gone"},
		{"ended, and another session without hooks", sighting{session: session(presence.Ended, time.Hour), seen: before(time.Minute)}, isActive, "after the session"},
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
	e := &Env{Procs: fakeTree("", "claude@42:99", "")}
	for _, c := range []struct {
		p    presence.Session
		want life
	}{
		{presence.Session{PID: 42, Start: "99"}, alive},
		{presence.Session{PID: 42, Start: "98"}, dead},
		{presence.Session{PID: 43, Start: "99"}, dead},
		{presence.Session{PID: 42}, unknown},
		{presence.Session{}, unknown},
	} {
		if got := e.lives(c.p); got != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}

func TestFitEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		room int
		want string
	}{{"/a/b", 4, "/a/b"}, {"/aa/bb", 4, "…/bb"}, {"/äö/bb", 5, "…ö/bb"}, {"/日本", 4, "…本"}, {"abc", 1, "…"}} {
		if got := fitEnd(c.s, c.room); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.s, c.room, got, c.want)
		}
	}
}
