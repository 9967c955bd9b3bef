package router

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

// A name stands in an outbox a moment before its sender has made it durable. If
// it were delivered then, a power cut could leave the message in the inbox alone,
// and in no record: what is delivered has to be durable in the outbox before.
// The mailbox's clock says up to where that is so (docs/spool-format.md §3). For
// what it does not vouch for, the pass syncs the outbox itself.

// storing is how long a sender is given to sync what it stores.
const storing = 50 * time.Millisecond

// vouched is what a mailbox's clock says, read when it is asked.
type vouched struct {
	now   time.Time
	known bool
	upTo  mail.ID
}

// covers reports whether a message was durable before its name was listed. What
// people and the office write has ids that no clock gave, and what was adopted
// had one before it was stored.
func (v *vouched) covers(a office.Author, m *mail.Message) bool {
	if a.AID == "" || m.Envelope.Origin != nil {
		return false
	}
	if !v.known {
		v.upTo, v.known = a.Box.Vouched(v.now), true
	}
	return m.ID <= v.upTo
}

// leftToSender reports whether a file is so young that its sender is still at
// it, and somebody looks again anyway: a pass that lingers does, and a sender
// routes what it has stored.
func (p *pass) leftToSender(a office.Author, d spool.Draft) bool {
	if a.Far() {
		return false // the link is no sender that routes by itself
	}
	again := p.opt.Linger > 0 || !p.opt.All && a.Tag() != p.opt.Own
	return again && p.waits*lingerStep < storing && d.Info != nil && p.o.Sys.Now().Sub(d.Info.ModTime()).Abs() < storing
}

// durable makes the outbox entries durable of which that is not known, and
// leaves those where that fails.
func (p *pass) durable(jobs []*job) []*job {
	batch, tickets := p.o.Sys.Batch(), map[*job]*spool.Ticket{}
	for _, j := range jobs {
		if j.unsure {
			tickets[j] = batch.Dir(j.author.Box.FS, j.author.Box.Path(spool.Outbox))
		}
	}
	if batch.Flush() == nil {
		return jobs
	}
	var rest []*job
	for _, j := range jobs {
		if t := tickets[j]; t != nil && t.Err != nil {
			p.problem("sync outbox", j.author.Name, t.Err)
			p.putOff(j)
			continue
		}
		rest = append(rest, j)
	}
	return rest
}
