package hook

import (
	"strings"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

const (
	// attendEvery is how old the last evidence of an unchanged state may grow.
	attendEvery = time.Minute
	// ofSubagent marks the event of a question that a subagent asks: the turn of
	// the session itself may end while it is open.
	ofSubagent = " (subagent)"
)

// attend records in the mailbox what the session does now. It is a hint: what
// fails here is logged, and nothing else.
func (c *call) attend(s *seat, a Answer) error {
	box := s.Author.Box
	now := c.Sys.Now().UTC()
	old, known, err := presence.ReadIn(box.FS, box.Dir)
	if err != nil {
		return err
	}
	same := known && old.Runtime == c.Runtime.Name() && old.ID == c.SessionID
	state, event := c.state(old, same, a)
	if state == "" {
		return nil
	}
	steady := same && state == old.State
	if steady && (event == old.Event || state == presence.Busy) && now.Sub(old.At).Abs() < attendEvery {
		return nil
	}
	if err := s.Office.CheckWritable(); err != nil {
		return err
	}
	next := c.session(state, event, now)
	if steady {
		next.Since = old.Since
	}
	if same && c.OneShot && old.PID != next.PID && c.alive(old) {
		return nil // a run beside the live session of the same id
	}
	return presence.WriteIn(box.FS, box.Dir, next)
}

func (c *call) alive(s presence.Session) bool {
	if s.PID == 0 || c.Procs == nil {
		return false
	}
	p, ok := c.Procs.Process(s.PID)
	return ok && p.Start == s.Start
}

// state is what the event tells of the session; "" is nothing new.
func (c *call) state(old presence.Session, same bool, a Answer) (presence.State, string) {
	event := word(c.Name)
	asks := same && old.State == presence.Dialog && strings.HasSuffix(old.Event, ofSubagent)
	if c.AgentID != "" {
		switch {
		case c.Kind == Permission:
			return presence.Dialog, event + ofSubagent
		case asks:
			return presence.Busy, event
		}
		return "", ""
	}
	switch c.Kind {
	case SessionStart:
		switch {
		case c.Source == Compact && same:
			return "", "" // by hand at the prompt, or in the middle of a turn
		case c.oneShot():
			return presence.Busy, event
		}
		return presence.Idle, event
	case TurnStart, MidTurn:
		return presence.Busy, event
	case Stop:
		switch {
		case a.Block:
			return presence.Busy, event
		case asks:
			return "", ""
		}
		return presence.Idle, event
	case Permission:
		return presence.Dialog, event
	case Idle:
		return presence.Idle, event
	case Interrupt:
		return presence.Interrupted, event
	case FileChanged:
		if a.Wake != "" {
			return presence.Busy, event
		}
	case SessionEnd:
		if !c.Continues {
			return presence.Ended, event
		}
	}
	return "", ""
}

// session is what is known of the session now.
func (c *call) session(state presence.State, event string, now time.Time) presence.Session {
	s := presence.Session{Runtime: c.Runtime.Name(), ID: c.SessionID, State: state, Since: now, At: now, Event: event,
		OneShot: c.oneShot(), Cwd: c.dir(), Socket: c.Socket, Mode: c.Mode, Version: c.Version}
	if p, shared, ok := c.process(); ok && !shared {
		s.PID, s.Start = p.PID, p.Start
	}
	s.Tmux, _, _ = strings.Cut(c.env("TMUX"), ",")
	s.Pane = word(strings.TrimPrefix(c.env("TMUX_PANE"), "%"))
	if s.Pane != "" {
		s.Pane = "%" + s.Pane
	}
	return s
}
