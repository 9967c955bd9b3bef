package link

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// boxPatience is how long the link waits for a far mailbox, which only it and
// the router use.
const boxPatience = 5 * time.Second

// later is how long the wire keeps what could not be stored.
const later = 5 * time.Second

// ackPatience is how long the wire may take to know that something is durable
// here; after that it may come again, which does no harm.
const ackPatience = 5 * time.Second

// coming is one envelope of a far station that came in, checked.
type coming struct {
	parcel Parcel // nil for one that was held
	peer   *peer
	env    opened
	held   string // file name
	cargo  Cargo
	msg    *mail.Message // as it reads here
	digest mail.Digest   // at home
	here   bool          // it was before
	twin   *coming       // the same one, before it in a batch
	err    error         // the disk refused
}

// take takes what came in: nothing is acknowledged before it is durable here, and
// nothing that the disk refused.
func (e *engine) take(ctx context.Context, parcels []Parcel) {
	digests := make([]mail.Digest, len(parcels))
	alone := false
	for i, par := range parcels {
		digests[i] = mail.DigestOf(par.Data())
		_, suspect := e.suspects[digests[i]]
		alone = alone || suspect
	}
	if !alone {
		e.try(digests...)
		e.takeAll(ctx, parcels)
		e.tried()
		return
	}
	for i, par := range parcels {
		if !e.quarantined(par, digests[i]) {
			e.try(digests[i])
			e.takeAll(ctx, []Parcel{par})
			e.tried()
		}
	}
}

func (e *engine) takeAll(ctx context.Context, parcels []Parcel) {
	var list []*coming
	var acks []Parcel
	for _, par := range parcels {
		c := e.check(ctx, par)
		switch {
		case c == nil: // answered
		case c.env.Kind == Receipt:
			if e.takeReport(c) {
				acks = append(acks, par)
			}
		default:
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *coming) int {
		if n := strings.Compare(a.peer.Station, b.peer.Station); n != 0 {
			return n
		}
		return int(int64(a.env.Seq) - int64(b.env.Seq))
	})
	for _, par := range append(acks, e.sort(list)...) {
		go func() { // beside the next ones: after a hub's death some are never answered
			ctx, cancel := context.WithTimeout(ctx, ackPatience)
			defer cancel()
			par.Ack(ctx)
		}()
	}
}

// check believes an envelope only if it is whole, for this station and signed by
// the station that the wire had it from. nil: it was answered.
func (e *engine) check(ctx context.Context, par Parcel) *coming {
	refuse := func(why string) *coming {
		e.alarm(par.From(), "an envelope was thrown away: "+why)
		par.Term(why)
		return nil
	}
	env, err := open(par.Data())
	if err != nil {
		return refuse(line(err))
	}
	if env.From != par.From() || env.To != e.id.Station || env.Team != e.id.Team {
		return refuse(fmt.Sprintf("it says that it is from %s for %s in %s",
			mail.Neutralise(env.From, false), mail.Neutralise(env.To, false), mail.Neutralise(env.Team, false)))
	}
	p := e.peers[env.From]
	if p == nil {
		e.freshCards(ctx)
		if p = e.peers[env.From]; p == nil {
			par.Nak(later)
			e.log.Warn("mail of a station that has no card waits at the hub", "station", env.From)
			return nil
		}
	}
	if p.Revoked {
		return refuse("its station was revoked")
	}
	if !env.signedBy(p.Key) {
		e.freshCards(ctx) // its key may be new
		if slices.ContainsFunc(p.Former, env.signedBy) {
			par.Term("signed with a key that counts no more")
			e.log.Info("an envelope is signed with the key before; it comes again with the new one", "station", p.Station)
			return nil
		}
		if !env.signedBy(p.Key) {
			return refuse("its signature is not that of " + p.Station + " (" + Fingerprint(p.Key) + ")")
		}
	}
	p.heard, p.heardMono, e.statusDue = e.now(), e.mono(), true
	return &coming{parcel: par, peer: p, env: env}
}

// freshCards reads the cards again, but not for every envelope that somebody
// makes up.
func (e *engine) freshCards(ctx context.Context) {
	if e.mono().Sub(e.cardsRead) > time.Second {
		e.readCards(ctx)
	}
}

// takeReport applies receipts. false: they come again.
func (e *engine) takeReport(c *coming) bool {
	body, err := c.env.unseal(e.keys, c.peer.Curve)
	var r Report
	if err == nil {
		r, err = readReport(body)
	}
	if err != nil {
		e.alarm(c.peer.Station, "receipts were thrown away: "+line(err))
		c.parcel.Term(line(err))
		return false
	}
	if err := e.applyReport(c.peer, r); err != nil {
		e.log.Warn("receipts could not be stored; they come again", "station", c.peer.Station, "error", line(err))
		c.parcel.Nak(later)
		return false
	}
	return true
}

// sort puts mail where its number says: into the office, to what is held, or
// nowhere since it is here. It returns what may be acknowledged.
func (e *engine) sort(list []*coming) (acks []Parcel) {
	var accept []*coming
	soon := map[*peer]*inbound{} // the sequences as they will be
	for _, c := range list {
		p := c.peer
		in := soon[p]
		if in == nil {
			in = p.in.sketch()
			soon[p] = in
		}
		switch in.judge(c.env.Epoch, c.env.Seq) {
		case ahead:
			if err := e.hold(p, c); err != nil {
				e.cannotStore(p, err)
				c.parcel.Nak(later)
				continue
			}
			acks = append(acks, c.parcel)
		case next:
			in.note(entry{Epoch: c.env.Epoch, Seq: c.env.Seq, ID: c.env.ID})
			accept = append(accept, c)
		default: // seen or stray: what it is decides, not its number
			accept = append(accept, c)
		}
	}
	for _, c := range e.accept(accept) {
		if c.err != nil {
			e.cannotStore(c.peer, c.err)
			c.parcel.Nak(later)
			continue
		}
		acks = append(acks, c.parcel)
	}
	return acks
}

func (e *engine) cannotStore(p *peer, err error) {
	p.trouble = "its mail cannot be stored here and waits at the hub: " + line(err)
	e.statusDue = true
	e.log.Error("mail cannot be stored; it waits at the hub", "station", p.Station, "error", line(err))
}

// accept puts messages into their authors' outboxes here, durably, and notes
// their numbers. Those whose err is set were not stored.
func (e *engine) accept(list []*coming) []*coming {
	reg, err := e.registry()
	if err != nil {
		for _, c := range list {
			c.err = err
		}
		return list
	}
	letters := map[string][]*spool.Letter{}
	of := map[string][]*coming{}
	first := map[string]*coming{} // by station and id: it may stand twice among what came
	for _, c := range list {
		key := c.peer.Station + "/" + string(c.env.ID)
		if c.twin = first[key]; c.twin != nil {
			continue
		}
		first[key] = c
		author, data, err := e.prepare(reg, c)
		if c.err = err; err != nil || data == nil {
			continue
		}
		letters[author.Name] = append(letters[author.Name], &spool.Letter{ID: c.msg.ID, Data: data})
		of[author.Name] = append(of[author.Name], c)
	}
	for name, ls := range letters {
		x, _ := reg.Entry(name)
		if _, err := e.store(x, ls); err != nil {
			for _, c := range of[name] {
				c.err = err
			}
			continue
		}
		for i, l := range ls {
			if l.Err != nil && !errors.Is(l.Err, fs.ErrExist) {
				of[name][i].err = l.Err
			}
		}
	}
	for _, c := range list {
		if c.twin != nil {
			c.err, c.digest, c.here = c.twin.err, c.twin.digest, true
		}
	}
	e.noteIn(list)
	return list
}

// store puts letters into a far author's outbox, durably, as its owner.
func (e *engine) store(x registry.Entry, ls []*spool.Letter) (office.Author, error) {
	a, err := e.office.Author(x)
	if err != nil {
		return a, err
	}
	unlock, err := a.Box.Lock(boxPatience)
	if err != nil {
		return a, err
	}
	defer unlock()
	a.Box.StoreAll(ls, e.office.Sys.Batch())
	return a, nil
}

// prepare makes a message local. Without data there is nothing to store: it is
// here already, or refused, which its station is told. An error means: later.
func (e *engine) prepare(reg *registry.Registry, c *coming) (author registry.Entry, data []byte, err error) {
	p := c.peer
	refuse := func(why string) (registry.Entry, []byte, error) {
		e.tell(p, Event{Event: mail.EventRefused, ID: c.env.ID, At: e.now(), Text: why})
		return author, nil, nil
	}
	body, err := c.env.unseal(e.keys, p.Curve)
	if err != nil {
		return refuse(line(err))
	}
	cargo, raw, err := unpack(body)
	if err != nil {
		return refuse(line(err))
	}
	c.cargo, c.digest = cargo, mail.DigestOf(raw)
	if d, ok := p.in.digests[c.env.ID]; ok && d != c.digest {
		e.alarm(p.Station, fmt.Sprintf("%s came again with other content; the first one stands", c.env.ID))
		return author, nil, nil
	}
	m, err := mail.Parse(raw)
	switch {
	case err != nil:
		return refuse("it is no message: " + line(err))
	case m.ID != c.env.ID:
		return refuse("its envelope names another message")
	}
	h := home{station: e.id.Station, office: e.office.Config.ID, nameOf: func(aid string) (string, bool) {
		a, ok := reg.EntryByAID(aid)
		return a.Name, ok && a.Station == ""
	}}
	if c.msg, err = h.localise(m, cargo, p.Station); err != nil {
		return refuse(line(err))
	}
	author, ok := reg.Entry(c.msg.From)
	if !ok || author.Station != p.Station {
		return e.unknownAuthor(p, c)
	}
	if c.here = e.hasIt(author, c); c.here {
		return author, nil, nil
	}
	if data, err = c.msg.Encode(); err != nil {
		return refuse("it does not fit here: " + line(err))
	}
	return author, data, nil
}

// authorPatience is how long the card that names an author may lag behind its
// mail.
const authorPatience = 30 * time.Second

func (e *engine) unknownAuthor(p *peer, c *coming) (registry.Entry, []byte, error) {
	e.cardsAt = time.Time{}
	if p.strangers == nil {
		p.strangers = map[mail.ID]time.Time{}
	}
	first, known := p.strangers[c.env.ID]
	if !known {
		p.strangers[c.env.ID] = e.mono()
	} else if e.mono().Sub(first) > authorPatience {
		delete(p.strangers, c.env.ID)
		e.tell(p, Event{Event: mail.EventRefused, ID: c.env.ID, At: e.now(), Text: "its author is nobody on the card of " + p.Station})
		return registry.Entry{}, nil, nil
	}
	return registry.Entry{}, nil, fmt.Errorf("its author %s is not on the card of %s yet", c.msg.From, p.Station)
}

// hasIt reports whether the message is here already; then its station is told
// again what became of it.
func (e *engine) hasIt(author registry.Entry, c *coming) bool {
	m, _, err := e.office.ReadMessage(c.msg.ID)
	box, berr := e.office.Box(author)
	if berr != nil {
		return false
	}
	if err == nil {
		if m.From == c.msg.From || e.sameAuthor(m.From, author) {
			e.tellAgain(author, box, c)
			return true
		}
		return false // the router refuses it: the id is somebody else's
	}
	for _, dir := range []string{spool.Sent, spool.Failed} {
		if ok, err := spool.Exists(box.FS, box.Path(dir, spool.FileName(c.msg.ID))); err == nil && ok {
			e.tellAgain(author, box, c)
			return true
		}
	}
	return false
}

func (e *engine) sameAuthor(from string, author registry.Entry) bool {
	reg, err := e.registry()
	if err != nil {
		return false
	}
	a, ok := reg.Agent(from)
	return ok && a.AID == author.AID
}

// noteIn writes the numbers of what is in into the ledgers, durably.
func (e *engine) noteIn(list []*coming) {
	entries := map[*peer][]entry{}
	of := map[*peer][]*coming{}
	for _, c := range list {
		if c.err != nil {
			continue
		}
		p := c.peer
		if p.in.judge(c.env.Epoch, c.env.Seq) == seen && !p.in.knows(c.env.ID) && !c.here {
			p.clash, p.sayHave = true, true // the number was another message's: its sender was set back
		}
		if p.in.judge(c.env.Epoch, c.env.Seq) == seen && p.in.knows(c.env.ID) {
			continue
		}
		entries[p] = append(entries[p], entry{Epoch: c.env.Epoch, Seq: c.env.Seq, ID: c.env.ID, Digest: c.digest})
		of[p] = append(of[p], c)
	}
	for p, es := range entries {
		if err := p.inLog.append(es...); err != nil {
			for _, c := range of[p] {
				c.err = err
			}
			continue
		}
		p.trouble = ""
		for _, x := range es {
			p.in.note(x)
			delete(p.strangers, x.ID)
		}
	}
}
