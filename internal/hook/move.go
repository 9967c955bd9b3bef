package hook

import (
	"context"
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/router"
)

const (
	// passMax is how long a pass may keep a hook; it goes on from where it was
	// in the next.
	passMax = 3 * time.Second
	// passAtEnd is the same at the end of a session.
	passAtEnd = 700 * time.Millisecond
	// nearby is up to how many agents' outboxes are looked at for mail that
	// waits; in a larger office others' mail is left to other passes.
	nearby = 16
)

// move routes what waits, so that mail moves without a daemon (design §3): the
// agent's own at every call, everybody's and what is due when a turn or a
// session begins or ends. With nothing to do it is a look at a few directories.
func (c *call) move(ctx context.Context, s *seat) {
	own := waits(s)
	if !own && (c.Kind == MidTurn || c.AgentID != "" || !c.othersWait(s)) {
		return
	}
	limit := passMax
	if c.Kind == SessionEnd {
		limit = passAtEnd
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Somebody else may route, or the office may not be written: then it is for
	// others to do, and doctor says what is wrong.
	_, _, _ = c.Route(s.Office).Pass(ctx, router.Options{Own: s.Author.Tag(), All: !own})
}

func waits(s *seat) bool {
	ids, raw, err := s.Author.Box.Pending(nil)
	return err == nil && len(ids)+len(raw) > 0
}

func (c *call) othersWait(s *seat) bool {
	if id, _, ok := c.Sys.Boot(); ok {
		if h, known := debt.LoadHint(s.Office.FS, id); known && h.Due(c.Sys.Now()) {
			return true
		}
	}
	active := s.Registry.Active()
	if len(active) > nearby {
		return false
	}
	for _, a := range active {
		if a.AID == s.Author.AID {
			continue
		}
		e, ok := s.Registry.EntryByAID(a.AID)
		if !ok {
			continue
		}
		box, err := s.Office.Box(e)
		if err != nil {
			continue
		}
		if ids, raw, err := box.Pending(nil); err == nil && len(ids)+len(raw) > 0 {
			return true
		}
	}
	return false
}
