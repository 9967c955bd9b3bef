package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
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
		return cmp.Or(strings.Compare(a.peer.Station, b.peer.Station), strings.Compare(a.env.Epoch, b.env.Epoch), cmp.Compare(a.env.Seq, b.env.Seq))
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
			e.putOff(par)
			e.log.Warn("mail of a station that has no card waits at the hub", "station", env.From)
			return nil
		}
	}
	if p.Revoked {
		return refuse("its station was revoked, or has left")
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
	if why := env.fault(); why != "" {
		return refuse(why)
	}
	if env.Kind == Mail && len(p.events) >= eventsMost {
		e.putOff(par)
		return nil
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
		switch at := in.judge(c.env.Epoch, c.env.Seq); {
		case at == ahead && len(p.held) > 0 && c.env.Epoch < p.heldOf:
			accept = append(accept, c) // a later sequence began already: nothing is waited for any more
		case at == ahead:
			if len(p.held) >= heldMost || p.heldSize >= heldBytes {
				e.putOff(c.parcel)
				continue
			}
			if err := e.hold(p, c); err != nil {
				e.cannotStore(p, err)
				c.parcel.Nak(later)
				continue
			}
			acks = append(acks, c.parcel)
		case at == next:
			in.note(entry{Epoch: c.env.Epoch, Seq: c.env.Seq, ID: c.env.ID})
			accept = append(accept, c)
		default: // seen or stray: what it is decides, not its number
			accept = append(accept, c)
		}
	}
	for _, c := range e.accept(accept) {
		if errors.Is(c.err, errWaits) {
			e.putOff(c.parcel)
			continue
		}
		if c.err != nil {
			e.cannotStore(c.peer, c.err)
			c.parcel.Nak(later)
			continue
		}
		acks = append(acks, c.parcel)
	}
	return acks
}

// putOffMost is how many envelopes of one station may be put off at once. The
// wire hands out a few hundred that are not answered, and a station that has them
// all holds up the mail of every other one.
const putOffMost = 128

// offs counts what was put off of one station lately.
type offs struct {
	since time.Time
	n     int
}

// putOff has an envelope come again later; with too many of its station it is
// the station that sends it again, since no receipt comes.
func (e *engine) putOff(par Parcel) {
	o, now := e.off[par.From()], e.mono()
	if now.Sub(o.since) >= later {
		o = offs{since: now}
	}
	o.n++
	e.off[par.From()] = o
	if o.n > putOffMost {
		par.Term("too much of its station waits here already")
		return
	}
	par.Nak(later)
}

func (e *engine) cannotStore(p *peer, err error) {
	if errors.Is(err, errWaits) {
		e.log.Debug("mail waits", "station", p.Station, "why", line(err))
		return
	}
	p.trouble = "its mail cannot be stored here and waits at the hub: " + line(err)
	e.statusDue = true
	e.log.Error("mail cannot be stored; it waits at the hub", "station", p.Station, "error", line(err))
}
