package cli

import (
	"time"

	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/roster"
)

// The words for an agent's presence.
const (
	isActive   = "active"
	isIdle     = "idle"
	isBusy     = "busy"
	atDialog   = "dialog"
	isStale    = "stale"
	isDown     = "down"
	notSeen    = "not seen yet"
	isArchived = "archived"
)

const (
	activeFor = 10 * time.Minute
	idleFor   = 24 * time.Hour
	// busyFor is how long a turn goes on without a word from any hook, where its
	// process can't be looked at.
	busyFor = time.Hour
	// overlap is by how much what the agent did must be newer than the end of its
	// session to be another one's.
	overlap = 30 * time.Second
)

// life is whether a session's process runs.
type life int

const (
	unknown life = iota
	alive
	dead
)

// lives compares what a session says of its process with the processes there
// are. Where one daemon runs many sessions, nobody can tell.
func (e *Env) lives(p presence.Session) life {
	if p.PID == 0 || p.Start == "" || e.Procs == nil {
		return unknown
	}
	if now, ok := e.Procs.Process(p.PID); ok && now.Start == p.Start {
		return alive
	}
	return dead
}

// sighting is everything that tells of an agent's presence.
type sighting struct {
	now     time.Time
	runtime string
	session *presence.Session // nil: its hooks never said anything
	life    life              // of the session's process
	seen    time.Time         // what the agent did last with its mail; zero: nothing
	started *roster.Status    // nil: never started here
}

// presence says how the agent stands, and by what that is known.
func (s sighting) presence() (word, evidence string) {
	p := s.session
	switch {
	case p == nil:
		return s.unheard()
	case s.over() && s.seen.After(p.At.Add(overlap)):
		return s.byAge(s.seen), "it used its mail " + s.ago(s.seen) + ", after the session that is known of had ended"
	case p.State == presence.Ended:
		return isDown, "its session ended " + s.ago(p.Since)
	case s.life == dead:
		return isDown, "process " + itoa(p.PID) + ", which ran its session, is gone; last heard " + s.ago(p.At)
	case p.State == presence.Dialog:
		return atDialog, "a permission question has been open since " + s.ago(p.Since) + s.proof()
	case p.State == presence.Busy && (s.life == alive || s.now.Sub(p.At) < busyFor):
		return isBusy, "a turn began " + s.ago(p.Since) + s.proof()
	}
	last := latest(p.At, s.seen)
	word = s.byAge(last)
	if s.life == alive && word == isStale {
		word = isIdle
	}
	what := "at its prompt"
	if p.State == presence.Interrupted {
		what = "interrupted by its person"
	}
	return word, what + ", last heard " + s.ago(last) + s.proof()
}

// over reports whether the session that is known of has ended.
func (s sighting) over() bool { return s.session.State == presence.Ended || s.life == dead }

// proof adds what is known of the session's process.
func (s sighting) proof() string {
	text := ""
	if s.session.Event != "" {
		text = " (" + s.session.Event + ")"
	}
	if s.life == alive {
		text += "; process " + itoa(s.session.PID) + " runs"
	}
	return text
}

// unheard is the presence of an agent whose hooks said nothing.
func (s sighting) unheard() (word, evidence string) {
	st := s.started
	switch {
	case st != nil && !st.Alive && !st.UnderWay(s.now) && !s.seen.After(st.At.Add(overlap)):
		return isDown, "what post started is not running" + because(st.Ended)
	case !s.seen.IsZero():
		word = s.byAge(s.seen)
		if st != nil && st.Alive && word == isStale {
			word = isIdle
		}
		return word, "it used its mail " + s.ago(s.seen)
	case s.runtime == "codex":
		return notSeen, "type once in it" // its hooks begin with the first turn
	case st != nil && st.Alive:
		return notSeen, "started " + s.ago(st.At) + ", and its hooks have said nothing"
	}
	return notSeen, ""
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func (s sighting) ago(t time.Time) string { return ago(s.now.Sub(t)) + " ago" }

func (s sighting) byAge(t time.Time) string {
	switch age := s.now.Sub(t); {
	case age < activeFor:
		return isActive
	case age < idleFor:
		return isIdle
	}
	return isStale
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
