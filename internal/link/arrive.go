package link

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// settled is what reports of one far station said about one far mailbox.
type settled struct {
	receipts []mail.Receipt
	finish   []mail.ID
}

// applyReport takes what a far station says of our mail. An error means that
// the disk refused: it has to come again.
func (e *engine) applyReport(p *peer, r Report) error {
	reg, err := e.registry()
	if err != nil {
		return err
	}
	if r.Have != nil {
		if err := e.hear(p, *r.Have); err != nil {
			return err
		}
	}
	if r.Again && !e.mono().Before(p.againAt) { // not as often as it likes
		p.againAt = e.mono().Add(e.times.Hold)
		for _, q := range p.queue {
			q.due, q.tries = e.mono(), max(q.tries, 1)
		}
	}
	boxes := map[string]*settled{}
	var bounces []bounce
	for _, ev := range r.Events {
		for _, x := range e.concerned(reg, p, ev) {
			ok, err := e.believe(p, x, ev)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			s := boxes[x.Name]
			if s == nil {
				s = &settled{}
				boxes[x.Name] = s
			}
			s.receipts = append(s.receipts, mail.Receipt{At: ev.At, Event: ev.Event, ID: ev.ID, Evidence: evidence(p.Station, ev)})
			if ends(ev) {
				s.finish = append(s.finish, ev.ID)
			}
			if ev.Event == mail.EventRefused && !ev.Told {
				bounces = append(bounces, bounce{id: ev.ID, to: x.Name, why: ev.Text})
			}
		}
	}
	for _, b := range bounces { // told first, finished then: a crash between repeats both
		if err := e.bounce(p, reg, b); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(boxes)) {
		if err := e.settle(p, name, boxes[name]); err != nil {
			return err
		}
	}
	return nil
}

func ends(ev Event) bool { return ev.Event == mail.EventArrived || ev.Event == mail.EventRefused }

func evidence(station string, ev Event) string {
	switch {
	case ev.Event == mail.EventRefused && ev.Text != "":
		return ev.Text
	case ev.Text == "":
		return station
	}
	return station + " " + ev.Text
}

// concerned lists the far mailboxes that an event is about.
func (e *engine) concerned(reg *registry.Registry, p *peer, ev Event) []registry.Entry {
	if ev.AID != "" {
		aid := ev.AID
		if aid == thePerson {
			aid = mail.FarAID(mail.NameHuman, p.Station)
		}
		if x, ok := reg.EntryByAID(aid); ok && x.Station == p.Station {
			return []registry.Entry{x}
		}
		return nil
	}
	var out []registry.Entry
	if q := p.byID[ev.ID]; q != nil {
		for aid := range q.left {
			if x, ok := reg.EntryByAID(aid); ok {
				out = append(out, x)
			}
		}
	}
	return out
}

// believe checks an event against what this office sent: only mail that lies, or
// lay, in that far mailbox, and the very bytes. false: there is nothing to do.
func (e *engine) believe(p *peer, x registry.Entry, ev Event) (bool, error) {
	box, err := e.office.Box(x)
	if err != nil {
		return false, err
	}
	state, err := box.Where(ev.ID)
	if err != nil {
		return false, err
	}
	if state == spool.Absent {
		e.alarm(p.Station, fmt.Sprintf("it has a receipt for %s, which was never sent to %s; it was not believed", ev.ID, x.Name))
		return false, nil
	}
	if ends(ev) && state == spool.Handled {
		p.gone(x.AID, ev.ID)
		return false, nil // a repeat, or of something that was sent again
	}
	if ev.Event == mail.EventArrived {
		l, found, err := box.FindIndex(ev.ID, spool.Reach)
		if err != nil {
			return false, err
		}
		if found && ev.Digest != l.Digest {
			e.alarm(p.Station, fmt.Sprintf("its receipt for %s is about other content; it was not believed", ev.ID))
			return false, nil
		}
	}
	return true, nil
}

// settle writes receipts into a far mailbox and takes out what has arrived.
func (e *engine) settle(p *peer, name string, s *settled) error {
	m, err := mailbox.Open(e.office, name)
	if err != nil {
		return err
	}
	if early := e.sents[name]; len(early) > 0 { // in the order in which things happened
		s.receipts = append(early, s.receipts...)
		delete(e.sents, name)
	}
	if err := m.Receipt(s.receipts...); err != nil {
		return err
	}
	if len(s.finish) == 0 {
		return nil
	}
	unlock, err := m.Author.Box.Lock(boxPatience)
	if err != nil {
		return err
	}
	err = m.Author.Box.FinishAll(s.finish, e.office.Sys.Batch())
	unlock()
	if err != nil {
		return err
	}
	p.gone(m.Author.AID, s.finish...)
	e.statusDue = true
	return nil
}

// gone takes messages off the queue as far as one recipient is concerned.
func (p *peer) gone(aid string, ids ...mail.ID) {
	for _, id := range ids {
		if q := p.byID[id]; q != nil {
			delete(q.left, aid)
			if len(q.left) == 0 {
				delete(p.byID, id)
				delete(p.out.seqs, id)
			}
		}
	}
	p.queue = slices.DeleteFunc(p.queue, func(q *parting) bool { return len(q.left) == 0 })
}

// bounce is a refusal of which the far office has told nobody.
type bounce struct {
	id  mail.ID
	to  string // far name
	why string
}

// bounce tells the author, as what the far office says: its notice comes in as
// its mail would. The id derives from the cause, so a repeat is the same.
func (e *engine) bounce(p *peer, reg *registry.Registry, b bounce) error {
	m, data, err := e.office.ReadMessage(b.id)
	if errors.Is(err, fs.ErrNotExist) || err != nil && data != nil {
		e.alarm(p.Station, fmt.Sprintf("it refuses %s to %s: %s; whose message it was cannot be read any more", b.id, b.to, b.why))
		return nil
	}
	if err != nil {
		return err
	}
	author, ok := reg.Agent(m.From)
	if !ok { // a person, or the office: they have no inbox
		e.alarm(p.Station, fmt.Sprintf("it refuses %s to %s: %s", b.id, b.to, b.why))
		return nil
	}
	from := mail.NamePostroom + "@" + p.Station
	id := mail.DerivedID(b.id, from, author.AID, "bounce", b.to)
	note := &mail.Message{
		Schema: mail.Schema, ID: id, Conversation: m.Conversation, InReplyTo: b.id, From: from, To: author.Name, Act: mail.Inform,
		Subject: mail.CleanSubject("Not delivered: " + m.Subject),
		Body:    "Your message " + string(b.id) + " to " + b.to + " was not delivered: " + b.why + ".\n",
		Office:  e.office.Config.ID, Station: p.Station, SentWith: e.office.Sys.Version,
		CreatedAt: b.id.Time(), Envelope: &mail.Envelope{Recipients: []string{author.AID}},
	}
	if note.Conversation == "" {
		note.Conversation = mail.NewConversation(id)
	}
	x, ok := reg.Entry(from)
	if !ok {
		e.alarm(p.Station, fmt.Sprintf("it refuses %s to %s: %s", b.id, b.to, b.why))
		return nil
	}
	if data, err = note.Encode(); err != nil {
		return err
	}
	l := &spool.Letter{ID: id, Data: data}
	if err := e.store(x, []*spool.Letter{l}); err != nil {
		return err
	}
	if errors.Is(l.Err, fs.ErrExist) {
		return nil
	}
	return l.Err
}

// startAnew begins a sequence of our mail that comes after an epoch.
func (e *engine) startAnew(p *peer, after string) error {
	x := entry{Epoch: newEpoch(e.now(), after)}
	if err := p.outLog.append(x); err != nil {
		return err
	}
	p.out.note(x, nil)
	for _, q := range p.queue {
		q.seq, q.due = 0, e.mono()
	}
	return nil
}

// refuseAll gives back all that waits for a station that will never take it. A
// new sequence begins, so that whoever has the name later misses none of it, and
// does not ask for what its authors were told is not delivered.
func (e *engine) refuseAll(p *peer, why string) {
	if len(p.queue) == 0 {
		return
	}
	if err := e.startAnew(p, p.out.epoch); err != nil {
		e.log.Warn("what waits for a station could not be given back; trying again", "station", p.Station, "error", line(err))
		p.unsynced = true
		return
	}
	var r Report
	for _, q := range p.queue {
		r.Events = append(r.Events, Event{Event: mail.EventRefused, ID: q.id, At: e.now(), Text: why})
	}
	if err := e.applyReport(p, r); err != nil {
		e.log.Warn("what waits for a station could not be given back; trying again", "station", p.Station, "error", line(err))
		p.unsynced = true
	}
}

const setBack = "it has mail of ours that this office knows nothing of: this office was set back, perhaps to a backup; a new sequence began"

// hear takes what a far station says of the sequence of our mail.
func (e *engine) hear(p *peer, h Have) error {
	h.At = min(h.At, e.now().Add(24*time.Hour).UnixMilli()) // a clock that is far off silences nobody
	before, now := p.out.haveAt, e.mono()
	a, known := p.out.hear(h)
	if !known {
		return nil
	}
	if a.restart || a.recall > 0 { // each makes work and lines in the ledger, so not as often as it likes
		if now.Before(p.setBack) {
			p.out.haveAt = before
			return errors.New("it said a moment ago that much has to be sent again")
		}
		p.setBack = now.Add(e.times.Hold)
	}
	if a.restart {
		if err := e.startAnew(p, max(h.Epoch, p.out.epoch)); err != nil {
			return err
		}
		e.alarm(p.Station, setBack)
		return nil
	}
	if a.forgot {
		e.alarm(p.Station, setBack)
		p.out.past[h.Before] = true // once is enough
	}
	for _, seq := range a.again {
		for _, q := range p.queue {
			if q.seq == seq && !q.flying && now.Sub(q.due) < 0 {
				q.due = now
			}
		}
	}
	if lost := p.unknownTo(a.again); len(lost) > 0 {
		if err := e.recall(p, lost); err != nil {
			return err
		}
	}
	if a.recall > 0 {
		var seqs []uint64
		for s := h.Upto + 1; s <= a.recall; s++ {
			seqs = append(seqs, s)
		}
		if err := e.recall(p, seqs); err != nil {
			return err
		}
		p.out.have = h.Upto
		e.alarm(p.Station, fmt.Sprintf("it was set back, perhaps to a backup: what it had got since is sent again (%d messages)", a.recall-h.Upto))
		return nil
	}
	if h.Upto > p.out.have {
		x := entry{Have: h.Upto, HaveAt: h.At}
		p.out.note(x, nil)
		p.haveDirty = true
	}
	return nil
}

// unknownTo lists numbers that are not in the queue: they arrived there once.
func (p *peer) unknownTo(seqs []uint64) (out []uint64) {
	for _, s := range seqs {
		if !slices.ContainsFunc(p.queue, func(q *parting) bool { return q.seq == s }) && s <= p.out.last {
			out = append(out, s)
		}
	}
	return out
}

// recall queues messages again that had arrived once and that the far station
// has lost, under the numbers that they had.
func (e *engine) recall(p *peer, seqs []uint64) error {
	want, epoch := map[uint64]entry{}, ""
	wanted := make(map[uint64]bool, len(seqs))
	for _, s := range seqs {
		wanted[s] = true
	}
	err := p.outLog.each(func(x entry) {
		if x.Epoch != "" {
			epoch = x.Epoch
		}
		if epoch == p.out.epoch && wanted[x.Seq] {
			want[x.Seq] = x
		}
	})
	if err != nil {
		return err
	}
	reg, err := e.registry()
	if err != nil {
		return err
	}
	for _, seq := range slices.Sorted(maps.Keys(want)) {
		x := want[seq]
		if p.byID[x.ID] != nil {
			continue
		}
		q := &parting{id: x.ID, digest: x.Digest, left: map[string]bool{}, seq: seq, tries: 1}
		for a := range reg.All() {
			if a.Station != p.Station {
				continue
			}
			if box, err := e.office.Box(a); err == nil {
				if s, err := box.Where(x.ID); err == nil && s != spool.Absent {
					q.left[a.AID] = true
				}
			}
		}
		if len(q.left) > 0 {
			p.byID[x.ID] = q
			p.queue = append(p.queue, q)
		}
	}
	return nil
}
