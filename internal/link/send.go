package link

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// window is how many messages may be on their way to the hub for one station.
const window = 256

// parting is one message for one far station, until all its recipients there
// have it. It is on disk as a file in the inboxes of their mailboxes here.
type parting struct {
	id     mail.ID
	digest mail.Digest
	left   map[string]bool // aids of far recipients who have not got it
	seq    uint64
	flying bool // on its way to the hub
	tries  int  // how often the hub took it
	due    time.Time
	last   time.Time // when it went to the hub
}

// took notes that the hub has a message, and when it is sent again if no receipt
// comes.
func (e *engine) took(q *parting, now time.Time) {
	q.due = now.Add(min(e.times.Resend<<min(q.tries, 8), resendMost))
	q.tries++
}

// resendMost is the longest time between two tries.
const resendMost = 24 * time.Hour

// published is the hub's answer to one envelope.
type published struct {
	to  string
	id  mail.ID // "" of a report
	rep *flight
	err error
}

// part takes note of a message in a far agent's inbox.
func (e *engine) part(x registry.Entry, id mail.ID, digest mail.Digest) {
	p := e.peers[x.Station]
	if p == nil {
		return // its card comes first; the scan finds the mail
	}
	q := p.byID[id]
	if q != nil && q.left[x.AID] {
		return
	}
	box, err := e.office.Box(x)
	if err != nil {
		return
	}
	if state, err := box.Where(id); err != nil || state != spool.Waiting {
		return
	}
	if q == nil {
		q = &parting{id: id, digest: digest, left: map[string]bool{}, seq: p.out.seqs[id]}
		if q.seq > 0 && p.out.sent[q.seq] { // before this program began
			q.last = e.mono()
			e.took(q, q.last)
		}
		p.byID[id] = q
		p.queue = append(p.queue, q)
	}
	q.left[x.AID] = true
	e.statusDue = true
}

// inOrder puts what has a number first, by that, and the rest as it was written:
// after a restart the journal brings what is newest, and a scan what waited.
func inOrder(a, b *parting) int {
	switch {
	case a.seq > 0 && b.seq > 0:
		return cmp.Compare(a.seq, b.seq)
	case a.seq > 0:
		return -1
	case b.seq > 0:
		return 1
	}
	return strings.Compare(string(a.id), string(b.id))
}

// scan looks into every far mailbox: whatever the journal said, what lies there
// has not arrived.
func (e *engine) scan() {
	e.scanAt = e.mono().Add(e.times.Scan)
	reg, err := e.registry()
	if err != nil {
		return
	}
	for x := range reg.All() {
		p := e.peers[x.Station]
		if x.Station == "" || p == nil {
			continue
		}
		box, err := e.office.Box(x)
		if err != nil {
			continue
		}
		names, err := box.FS.ReadNames(box.Path(spool.Inbox))
		if err != nil {
			continue
		}
		slices.Sort(names)
		for _, n := range names {
			id, ok := idOf(n)
			if !ok || p.byID[id] != nil && p.byID[id].left[x.AID] {
				continue
			}
			if l, found, err := box.FindIndex(id, spool.Reach); err == nil && found {
				e.part(x, id, l.Digest)
			}
		}
	}
	for _, p := range e.peers {
		slices.SortStableFunc(p.queue, inOrder)
	}
}

// ship publishes what is due for a station, in order.
func (e *engine) ship(p *peer) {
	now := e.mono()
	if p.Revoked && !p.unsynced {
		e.refuseAll(p, revokedWhy(p))
		return
	}
	if p.Revoked || p.Key == "" || p.unsynced || now.Before(p.blocked) || len(p.queue) == 0 {
		return
	}
	flying := 0
	var due []*parting
	for _, q := range p.queue {
		switch {
		case q.flying:
			flying++
		case now.Before(q.due):
		case q.tries > 0 && p.heardMono.Before(q.last) && now.Sub(q.last) < resendMost:
			q.due = now.Add(e.times.Resend) // nobody was there to fetch it: the hub has it
		case len(due) < window:
			due = append(due, q)
		}
	}
	due = due[:max(0, min(len(due), window-flying))]
	if err := e.number(p, due); err != nil {
		p.trouble, p.blocked = "the numbers of messages cannot be stored: "+line(err), now.Add(5*time.Second)
		e.statusDue = true
		return
	}
	for _, q := range due {
		e.publish(p, q)
	}
}

// number gives messages their place in the sequence, durably before they leave.
func (e *engine) number(p *peer, list []*parting) error {
	var entries []entry
	epoch, last := p.out.epoch, p.out.last
	if epoch == "" {
		epoch, last = newEpoch(e.now(), ""), 0
		entries = append(entries, entry{Epoch: epoch})
	}
	for _, q := range list {
		if q.seq == 0 {
			last++
			entries = append(entries, entry{Seq: last, ID: q.id, Digest: q.digest})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	if err := p.outLog.append(append(slices.Clone(entries), p.owedLines()...)...); err != nil {
		return err
	}
	for _, x := range entries {
		p.out.note(x, func(mail.ID) bool { return true })
	}
	for _, q := range list {
		q.seq = p.out.seqs[q.id]
	}
	return nil
}

// owedLines are what the ledger does not have yet, and may have late.
func (p *peer) owedLines() (out []entry) {
	if p.haveDirty {
		out = append(out, entry{Have: p.out.have, HaveAt: p.out.haveAt})
	}
	for _, seq := range p.sent {
		out = append(out, entry{Sent: seq})
	}
	p.haveDirty, p.sent = false, nil
	return out
}

// linesEvery is how late such lines may be.
const linesEvery = 2 * time.Second

func (e *engine) writeLines(p *peer, now time.Time) {
	if !p.haveDirty && len(p.sent) == 0 || now.Sub(p.linesAt) < linesEvery {
		return
	}
	p.linesAt = now
	if err := p.outLog.append(p.owedLines()...); err != nil {
		e.log.Warn("what was sent could not be noted; it may be sent again", "error", line(err))
	}
}

func (e *engine) publish(p *peer, q *parting) {
	data, err := e.envelope(p, q)
	if err != nil {
		q.due = e.mono().Add(time.Minute)
		e.alarm(p.Station, fmt.Sprintf("%s cannot be sent there: %s", q.id, line(err)))
		return
	}
	q.flying, q.last = true, e.mono()
	answer := e.wire.Publish(p.Station, Mail, fmt.Sprintf("%s#%d", q.id, q.tries), data)
	go func() { e.answers <- published{to: p.Station, id: q.id, err: <-answer} }()
}

// envelope makes the envelope of a message: the bytes that this office stamped.
func (e *engine) envelope(p *peer, q *parting) ([]byte, error) {
	reg, err := e.registry()
	if err != nil {
		return nil, err
	}
	data, err := e.letter(reg, q)
	if err != nil {
		return nil, err
	}
	m, err := mail.Parse(data)
	if err != nil {
		return nil, err
	}
	c := cargoOf(reg, p.Station, m, q)
	body, err := pack(c, data)
	if err != nil {
		return nil, err
	}
	curve := ""
	if e.id.Seal {
		curve = p.Curve
	}
	return e.keys.seal(Header{Team: e.id.Team, Kind: Mail, From: e.id.Station, To: p.Station, Epoch: p.out.epoch, Seq: q.seq, ID: q.id}, body, curve)
}

// letter reads the message from a far mailbox: as it was delivered, or not at all.
func (e *engine) letter(reg *registry.Registry, q *parting) ([]byte, error) {
	err := error(fs.ErrNotExist)
	for aid := range q.left {
		x, ok := reg.EntryByAID(aid)
		if !ok {
			continue
		}
		box, berr := e.office.Box(x)
		if berr != nil {
			err = berr
			continue
		}
		var data []byte
		for _, dir := range []string{spool.Inbox, spool.Done} {
			if data, _, err = spool.ReadMail(box.FS, box.Path(dir, spool.FileName(q.id))); err == nil {
				break
			}
		}
		if err == nil && mail.DigestOf(data) == q.digest {
			return data, nil
		}
		if err == nil {
			err = errors.New("its file was changed after it was delivered: run post verify")
		}
	}
	return nil, err
}

// cargoOf says for whom a message is at a station, in that station's aids.
func cargoOf(reg *registry.Registry, station string, m *mail.Message, q *parting) Cargo {
	c := Cargo{Recipients: []string{}}
	if a, ok := reg.Agent(m.From); ok {
		c.AID = a.AID
	}
	listed := map[string]bool{}
	pick := func(aids []string) (out []string) {
		for _, aid := range aids {
			if x, ok := reg.EntryByAID(aid); ok && x.Station == station {
				listed[aid] = true
				out = append(out, homeAID(aid, station))
			}
		}
		return out
	}
	if m.Envelope != nil {
		c.Recipients = append(c.Recipients, pick(m.Envelope.Recipients)...)
		c.CC = pick(m.Envelope.CC)
	}
	for _, aid := range slices.Sorted(maps.Keys(q.left)) { // one that is copied on everything is in no envelope
		if !listed[aid] {
			c.CC = append(c.CC, homeAID(aid, station))
		}
	}
	if _, agent := reg.Agent(m.To); !agent {
		if ch, ok := reg.Channel(m.To); ok {
			c.Channel = ch.Name
		}
	}
	return c
}

// homeAID is a far agent's aid as its own station knows it: only its person has
// another one here.
func homeAID(aid, station string) string {
	if aid == mail.FarAID(mail.NameHuman, station) {
		return thePerson
	}
	return aid
}

// answered takes the hub's answer.
func (e *engine) answered(a published) {
	p := e.peers[a.to]
	if p == nil {
		return
	}
	if a.rep != nil {
		e.reported(p, a)
		return
	}
	q := p.byID[a.id]
	if q == nil {
		return // its receipt was faster
	}
	q.flying = false
	now := e.mono()
	if a.err == nil {
		p.trouble = ""
		p.sent = append(p.sent, q.seq)
		e.took(q, now)
		if q.tries == 1 {
			e.receipt(p, q.left, mail.Receipt{At: e.now(), Event: mail.EventSent, ID: q.id, Evidence: "hub of " + e.id.Team})
		}
		return
	}
	switch {
	case errors.Is(a.err, ErrDown), errors.Is(a.err, ErrRevoked):
		p.blocked = now.Add(200 * time.Millisecond)
	case errors.Is(a.err, ErrFull):
		p.blocked, p.trouble = now.Add(5*time.Second), "too much waits for it at the hub already"
	default:
		p.blocked, p.trouble = now.Add(2*time.Second), line(a.err)
	}
	e.statusDue = true
}

// receipt writes receipts into far mailboxes, as their owner. What cannot be
// written is said and not tried again: the far station repeats what matters.
func (e *engine) receipt(p *peer, aids map[string]bool, r mail.Receipt) {
	reg, err := e.registry()
	if err != nil {
		return
	}
	for aid := range aids {
		if x, ok := reg.EntryByAID(aid); ok && x.Station == p.Station {
			e.sents[x.Name] = append(e.sents[x.Name], r)
		}
	}
}

// flushSents writes the receipts that nothing depends on.
func (e *engine) flushSents() {
	for name, rs := range e.sents {
		m, err := mailbox.Open(e.office, name)
		if err == nil {
			err = m.Receipt(rs...)
		}
		if err != nil {
			e.log.Warn("that a message left could not be written down", "agent", name, "error", line(err))
		}
		delete(e.sents, name)
	}
}
