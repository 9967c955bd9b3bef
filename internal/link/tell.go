package link

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// flight is a report on its way to the hub.
type flight struct{ events []Event }

// missingMax is how many missing numbers are asked for at once.
const missingMax = 1000

// eventsMost is how many events may wait to be told before no more mail of the
// station is taken, which would make more of them.
const eventsMost = 10000

// tell queues an event for a far station.
func (e *engine) tell(p *peer, ev Event) {
	if !p.Revoked {
		p.events = append(p.events, ev)
		p.sayHave = true
	}
}

// tellAgain repeats what became of a message that came in again: its receipt may
// have been lost.
func (e *engine) tellAgain(author registry.Entry, box spool.Box, c *coming) {
	reg, err := e.registry()
	if err != nil {
		return
	}
	p, id := c.peer, c.msg.ID
	if why, err := box.ReadWhy(spool.FileName(id)); err == nil {
		e.tell(p, Event{Event: mail.EventRefused, ID: id, At: e.now(), Text: why.Reason, Told: true})
		return
	}
	for _, aid := range append(slices.Clone(c.cargo.Recipients), c.cargo.CC...) {
		if aid == thePerson {
			if e.forPerson(id) {
				e.tell(p, Event{Event: mail.EventArrived, ID: id, AID: aid, At: e.now(), Digest: c.digest, Text: "a person"})
			}
			continue
		}
		x, ok := reg.EntryByAID(aid)
		if !ok || x.Station != "" {
			e.tell(p, Event{Event: mail.EventRefused, ID: id, AID: aid, At: e.now(), Text: "the mailbox " + strconv.Quote(aid) + " is not in the registry", Told: true})
			continue
		}
		theirs, err := e.office.Box(x)
		if err != nil {
			continue
		}
		if state, err := theirs.Where(id); err != nil || state == spool.Absent {
			continue // not yet
		}
		text := "inbox"
		if l, found, err := theirs.FindIndex(id, spool.Reach); err == nil && found {
			text += " " + strconv.FormatUint(l.Seq, 10)
		}
		e.tell(p, Event{Event: mail.EventArrived, ID: id, AID: aid, At: e.now(), Digest: c.digest, Text: text})
	}
}

// report sends a far station what is to be told, one envelope at a time.
func (e *engine) report(p *peer) {
	now := e.mono()
	if p.Revoked || p.Key == "" || p.reporting || !p.sayHave && len(p.events) == 0 || now.Before(p.mute) {
		return
	}
	f := &flight{events: p.events[:min(len(p.events), reportEvents)]}
	body, err := json.Marshal(Report{Have: e.haveNow(p), Again: p.sayAgain, Events: f.events})
	if err != nil {
		e.log.Error("receipts cannot be written", "error", line(err))
		return
	}
	curve := ""
	if e.id.Seal {
		curve = p.Curve
	}
	data, err := e.keys.seal(Header{Team: e.id.Team, Kind: Receipt, From: e.id.Station, To: p.Station}, body, curve)
	if err != nil {
		p.mute = now.Add(10 * time.Second)
		e.log.Error("receipts cannot be signed", "error", line(err))
		return
	}
	p.events, p.sayHave, p.sayAgain, p.clash, p.reporting = p.events[len(f.events):], false, false, false, true
	answer := e.wire.Publish(p.Station, Receipt, "r-"+rand.Text(), data)
	go func() { e.answers <- published{to: p.Station, rep: f, err: <-answer} }()
}

// reported takes the hub's answer to a report.
func (e *engine) reported(p *peer, a published) {
	p.reporting = false
	if a.err == nil {
		return
	}
	p.events = append(slices.Clone(a.rep.events), p.events...)
	p.sayHave, p.mute = true, e.mono().Add(500*time.Millisecond)
}

// haveNow is how far the sequence of a station's mail is in.
func (e *engine) haveNow(p *peer) *Have {
	if p.in.epoch == "" && p.heldOf == "" {
		return nil
	}
	e.haveAt = max(e.haveAt+1, e.now().UnixMilli())
	h := &Have{Epoch: p.in.epoch, Upto: p.in.upto, Before: p.in.before, Clash: p.clash, At: e.haveAt}
	if len(p.held) > 0 && p.heldOf >= p.in.epoch {
		if p.heldOf > p.in.epoch {
			h.Epoch, h.Upto, h.Before = p.heldOf, 0, p.in.epoch
		}
		h.Missing = p.in.missing(p.heldOf, slices.Collect(maps.Keys(p.held)), missingMax)
	}
	return h
}
