package mailbox

import (
	"context"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Crossing is how far a message has come on its way to an agent of another
// station, by what the link recorded (docs/adr/0035). The zero value: it waits
// here.
type Crossing struct {
	Sent    bool // the hub has it
	Arrived bool // it is in the agent's inbox there; the far station signed for it
	Refused bool // the far station will not have it; it is not in that inbox
	// Evidence is the far station's: "lab inbox 12", or why it refused.
	Evidence string
}

// Over reports whether nothing more is to come.
func (c Crossing) Over() bool { return c.Arrived || c.Refused }

// note takes in one receipt of the link's. What has arrived stays so, whatever a
// late repeat says.
func (c *Crossing) note(r mail.Receipt) {
	switch r.Event {
	case mail.EventSent:
		c.Sent = true
	case mail.EventArrived:
		*c = Crossing{Sent: true, Arrived: true, Evidence: r.Evidence}
	case mail.EventRefused:
		if !c.Arrived {
			*c = Crossing{Sent: true, Refused: true, Evidence: r.Evidence}
		}
	}
}

// Crossing says how far a message has come on its way to a far agent; nothing of
// one of ours.
func (m *Mailbox) Crossing(a policy.Agent, id mail.ID) (Crossing, error) {
	if !a.Far() {
		return Crossing{}, nil
	}
	box, err := m.boxOf(a.AID)
	if err != nil {
		return Crossing{}, err
	}
	seen, err := receiptsOf(box, map[mail.ID]bool{id: true}, othersReceipts, m.now())
	return seen[id].crossing, err
}

// Queued is the step at which a message lies in a far agent's mailbox here, from
// where the link takes it: what is "delivered" of an agent of ours.
const Queued = "queued"

// EventFor is the event of a journal record as people are told of it: that a far
// agent's mailbox here has a message is no delivery.
func EventFor(event, agent string) string {
	if _, station := mail.SplitStation(agent); station != "" && (event == journal.Delivered || event == journal.Redelivered) {
		return Queued
	}
	return event
}

// FarStand is how a message stands on its way to one far agent.
type FarStand struct {
	Agent policy.Agent
	Crossing
}

// cross takes one step into what is known of the way to a far agent.
func (l *Life) cross(a policy.Agent, s *Step, r mail.Receipt) {
	s.Event = EventFor(s.Event, a.Name)
	if l.crossings == nil {
		l.crossings = map[string]*Crossing{}
	}
	if l.crossings[a.AID] == nil {
		l.crossings[a.AID] = &Crossing{}
	}
	l.crossings[a.AID].note(r)
}

func (l *Life) stands() {
	for _, a := range l.Where.Reached {
		if !a.Far() {
			continue
		}
		f := FarStand{Agent: a}
		if c := l.crossings[a.AID]; c != nil {
			f.Crossing = *c
		}
		l.Far = append(l.Far, f)
	}
}

// Says is one line about how the message stands there.
func (f FarStand) Says() string {
	switch {
	case f.Arrived:
		return f.Agent.Name + " has it (" + f.Evidence + ")"
	case f.Refused:
		return f.Agent.Station + " refused it for " + f.Agent.Name + ": " + f.Evidence
	case f.Sent:
		return "it is on its way to " + f.Agent.Name + ": the hub has it, " + f.Agent.Station + " has not answered yet"
	}
	return "it waits here for the link to " + f.Agent.Station + ", on its way to " + f.Agent.Name + ": post link status"
}

// Have lists those who have the message: of this office, and at other stations
// those that signed for it.
func (l *Life) Have() (list []policy.Agent) {
	for _, a := range l.Where.Reached {
		if !a.Far() || l.crossings[a.AID] != nil && l.crossings[a.AID].Arrived {
			list = append(list, a)
		}
	}
	return list
}

func (m *Mailbox) boxOf(aid string) (spool.Box, error) {
	e, ok := m.Registry.EntryByAID(aid)
	if !ok {
		return spool.Box{}, &mail.Error{Op: "open mailbox", Kind: mail.KindUnknown, Addr: aid, Err: fs.ErrNotExist, Hint: `see "post agents"`}
	}
	return m.Office.Box(e)
}

// Leg is one message's way to one far agent.
type Leg struct {
	To policy.Agent
	ID mail.ID
}

// crossPause is how long to pause between two looks at the link's receipts after
// so long a wait: a look is cheap, and nobody is told more than an eighth late.
func crossPause(waited time.Duration) time.Duration {
	return min(max(waited/8, 2*time.Millisecond), 50*time.Millisecond)
}

// AwaitCrossings waits until every leg is over, or ctx ends, and returns how far
// each has come. What can't be read now has come nowhere yet.
func (m *Mailbox) AwaitCrossings(ctx context.Context, legs []Leg) map[Leg]Crossing {
	w := &crossings{m: m, done: make(map[Leg]Crossing, len(legs)), left: map[string]*crossing{}}
	for _, l := range legs {
		if w.left[l.To.AID] == nil {
			w.left[l.To.AID] = &crossing{to: l.To, ids: map[mail.ID]bool{}}
		}
		w.left[l.To.AID].ids[l.ID] = true
	}
	for waited := time.Duration(0); ; {
		if w.look(); len(w.left) == 0 {
			return w.done
		}
		pause := crossPause(waited)
		waited += pause
		select {
		case <-ctx.Done():
			w.look()
			return w.done
		case <-time.After(pause):
		}
	}
}

// crossings is one AwaitCrossings under way.
type crossings struct {
	m    *Mailbox
	done map[Leg]Crossing
	left map[string]*crossing // by the recipient's aid
}

type crossing struct {
	to  policy.Agent
	ids map[mail.ID]bool
	is  fs.FileInfo // the receipts as last read
}

// look reads the receipts that have changed.
func (w *crossings) look() {
	for aid, c := range w.left {
		box, err := w.m.boxOf(aid)
		if err != nil {
			continue
		}
		fi, err := box.FS.Lstat(box.Path(spool.Receipts))
		if err != nil || c.is != nil && vfs.SameFile(fi, c.is) && fi.Size() == c.is.Size() {
			continue // it only grows
		}
		seen, err := receiptsOf(box, c.ids, othersReceipts, w.m.now())
		if err != nil {
			continue
		}
		c.is = fi
		for id := range c.ids {
			w.done[Leg{c.to, id}] = seen[id].crossing
			if seen[id].crossing.Over() {
				delete(c.ids, id)
			}
		}
		if len(c.ids) == 0 {
			delete(w.left, aid)
		}
	}
}
