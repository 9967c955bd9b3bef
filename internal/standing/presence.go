package standing

import (
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/roster"
)

// The words for an agent's presence.
const (
	Active   = "active"
	Idle     = "idle"
	Busy     = "busy"
	AtDialog = "dialog"
	Stale    = "stale"
	Down     = "down"
	NotSeen  = "not seen yet"
	Archived = "archived"
	// Elsewhere is an agent of another station: how it stands, its own office
	// knows.
	Elsewhere = "elsewhere"
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

// Life is whether a session's process runs.
type Life int

// What is known of a process.
const (
	Unknown Life = iota
	Runs
	Gone
)

func (l Life) String() string { return [...]string{"unknown", "runs", "gone"}[l] }

// Lives compares what a session says of its process with the processes there
// are. Where one daemon runs many sessions, nobody can tell; nor without procs.
func Lives(procs identity.ProcessTree, p presence.Session) Life {
	if p.PID == 0 || p.Start == "" || procs == nil {
		return Unknown
	}
	if now, ok := procs.Process(p.PID); ok && now.Start == p.Start {
		return Runs
	}
	return Gone
}

// sighting is everything that tells of an agent's presence.
type sighting struct {
	now     time.Time
	runtime string
	session *presence.Session // nil: its hooks never said anything
	life    Life              // of the session's process
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
		return Down, "its session ended " + s.ago(p.Since)
	case s.life == Gone:
		return Down, "process " + strconv.Itoa(p.PID) + ", which ran its session, is gone; last heard " + s.ago(p.At)
	case p.State == presence.Dialog:
		return AtDialog, "a permission question has been open since " + s.ago(p.Since) + s.proof()
	case p.State == presence.Busy && (s.life == Runs || s.now.Sub(p.At) < busyFor):
		return Busy, "a turn began " + s.ago(p.Since) + s.proof()
	}
	last := latest(p.At, s.seen)
	word = s.byAge(last)
	if s.life == Runs && word == Stale {
		word = Idle
	}
	what := "at its prompt"
	if p.State == presence.Interrupted {
		what = "interrupted by its person"
	}
	return word, what + ", last heard " + s.ago(last) + s.proof()
}

// over reports whether the session that is known of has ended.
func (s sighting) over() bool { return s.session.State == presence.Ended || s.life == Gone }

// proof adds what is known of the session's process.
func (s sighting) proof() string {
	text := ""
	if s.session.Event != "" {
		text = " (" + s.session.Event + ")"
	}
	if s.life == Runs {
		text += "; process " + strconv.Itoa(s.session.PID) + " runs"
	}
	return text
}

// unheard is the presence of an agent whose hooks said nothing.
func (s sighting) unheard() (word, evidence string) {
	st := s.started
	switch {
	case st != nil && !st.Alive && !st.UnderWay(s.now) && !s.seen.After(st.At.Add(overlap)):
		return Down, "what post started is not running" + because(st.Ended)
	case !s.seen.IsZero():
		word = s.byAge(s.seen)
		if st != nil && st.Alive && word == Stale {
			word = Idle
		}
		return word, "it used its mail " + s.ago(s.seen)
	case s.runtime == "codex":
		return NotSeen, "type once in it" // its hooks begin with the first turn
	case st != nil && st.Alive:
		return NotSeen, "started " + s.ago(st.At) + ", and its hooks have said nothing"
	}
	return NotSeen, ""
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func (s sighting) ago(t time.Time) string { return mail.Age(s.now.Sub(t)) + " ago" }

func (s sighting) byAge(t time.Time) string {
	switch age := s.now.Sub(t); {
	case age < activeFor:
		return Active
	case age < idleFor:
		return Idle
	}
	return Stale
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
