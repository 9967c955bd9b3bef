package router

import (
	"errors"
	"maps"
	"slices"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// ask is one approval that a job puts before a person.
type ask struct {
	policy.Ask
	id     string
	fresh  bool
	ticket *spool.Ticket
	err    error
}

// deliver puts mail into inboxes and before people, makes that durable, and
// only then says so.
func (p *pass) deliver(jobs []*job) {
	for _, j := range jobs {
		for _, a := range j.actions {
			switch a := a.(type) {
			case policy.Deliver:
				p.deliverOne(j, a)
			case policy.Ask:
				p.askOne(j, a)
			case policy.Bounce:
				j.bounces = append(j.bounces, a)
			}
		}
	}
	p.batch.Flush() // each ticket keeps its own error: one bad disk stops nobody else
	for _, j := range jobs {
		p.settleFates(j)
	}
}

func (p *pass) deliverOne(j *job, a policy.Deliver) {
	d := &delivery{Deliver: a}
	if j.past != nil && j.past.delivered[a.To.AID] {
		return
	}
	j.deliveries = append(j.deliveries, d)
	d.err = func() error {
		e, ok := p.reg.EntryByAID(a.To.AID)
		if !ok {
			return errors.New("is not in the registry any more")
		}
		d.entry = e
		box, err := p.o.Box(e)
		if err != nil {
			return err
		}
		d.box = box
		how, err := box.Deliver(j.source(), j.msg.ID)
		if err != nil {
			return err
		}
		d.fresh = how == spool.Fresh
		d.ticket = p.batch.Dir(box.FS, box.Path(spool.Inbox))
		if d.fresh {
			return nil
		}
		return p.recall(j)
	}()
}

func (j *job) source() spool.Source {
	b := j.author.Box
	return spool.Source{FS: b.FS, Path: b.Path(spool.Outbox, j.draft.Name), Data: j.draft.Data, Info: j.draft.Info, Link: b.Shared}
}

func (p *pass) askOne(j *job, a policy.Ask) {
	if j.past != nil && j.past.asked == approval.IDFor(a.Kind, j.msg.ID, a.Cause) {
		return
	}
	k := &ask{Ask: a}
	j.asks = append(j.asks, k)
	k.err = func() error {
		ap := p.approval(j, a)
		k.id = ap.ID
		if a.Fuse {
			if err := p.blow(j, ap); err != nil {
				return err
			}
		}
		var err error
		k.fresh, err = approval.Create(p.o.FS, ap)
		k.ticket = p.batch.Do(func() error { return approval.SyncDir(p.o.FS) })
		return err
	}()
}

// blow records that a conversation's or an agent's fuse is blown by j.
func (p *pass) blow(j *job, ap *approval.Approval) error {
	key := approval.ConversationFuse(ap.Conversation)
	if ap.FuseAgent != "" {
		key = approval.AgentFuse(ap.FuseAgent)
	}
	f, err := approval.LoadFuse(p.o.FS, key)
	if err != nil {
		return err
	}
	f.Blown, f.Approval, f.Message = true, ap.ID, j.msg.ID
	p.fuses = nil
	return approval.SaveFuse(p.o.FS, key, f)
}

func (p *pass) approval(j *job, a policy.Ask) *approval.Approval {
	m := j.msg
	ap := &approval.Approval{
		ID: approval.IDFor(a.Kind, m.ID, a.Cause), Kind: a.Kind, Cause: a.Cause, Message: m.ID, Digest: j.draft.Digest,
		Asker: j.author.Name, AskerAID: j.author.AID, AddressedTo: m.To, Conversation: m.Conversation,
		Subject: m.Subject, Body: m.Body, Options: a.Options, Why: a.Why, Fuse: a.Fuse,
		Created: p.now, Expires: a.Expires,
	}
	if a.Kind == policy.Question {
		ap.AskKey = mail.ContentKey(m)
		var err error
		if ap.Options, err = m.Options(); err != nil {
			ap.Why += "; the options that " + ap.Asker + " wrote cannot be shown: they are no list of up to 9 short, different texts"
		}
	}
	if a.Kind == policy.Release {
		ap.Chain = p.chain(j)
		if a.OfSender {
			ap.FuseAgent = j.author.AID
		}
	}
	return ap
}

// chainLength bounds how much of a conversation goes into a release.
const chainLength = 32

// chain tells who said what before, oldest first (design §7.3).
func (p *pass) chain(j *job) []approval.Step {
	var steps []approval.Step
	for m := j.msg; m != nil && len(steps) < chainLength; {
		steps = append([]approval.Step{{At: m.CreatedAt, From: m.From, To: m.To, Act: m.Act, Subject: m.Subject, ID: m.ID}}, steps...)
		if m.InReplyTo == "" {
			break
		}
		parent := p.Message(m.InReplyTo)
		if parent == nil {
			parent, _, _ = p.o.ReadMessage(m.InReplyTo) // what can't be read ends the chain
		}
		m = parent
	}
	return steps
}

// settleFates reads the tickets and says what is now true.
func (p *pass) settleFates(j *job) {
	res := Result{ID: j.msg.ID, Author: j.author.Tag(), Mail: j.msg, Fates: p.earlierFates(j)}
	for _, d := range j.deliveries {
		if d.err == nil && d.ticket != nil {
			d.err = d.ticket.Err
		}
		switch {
		case d.err == nil:
			p.wake[d.To.AID] = true
			p.saw(j, d)
			res.Fates = append(res.Fates, Fate{Agent: d.To, State: Delivered})
		case !p.giveUp(j, d):
			j.deferred = true
			res.Fates = append(res.Fates, Fate{Agent: d.To, State: Deferred, Err: &mail.Error{Op: "deliver", Kind: mail.KindDelivery,
				ID: j.msg.ID, Addr: "inbox of " + d.To.Name, Err: d.err, Hint: `mend that and run "post route"; "post doctor" helps`}})
		}
	}
	for _, k := range j.asks {
		if k.err == nil && k.ticket != nil {
			k.err = k.ticket.Err
		}
		fate := Fate{State: Asked, Approval: k.id}
		if k.err != nil {
			fate.State, j.deferred = Deferred, true
			fate.Err = &mail.Error{Op: "ask a person", Kind: mail.KindDelivery, ID: j.msg.ID, Err: k.err, Hint: `run "post doctor"`}
		}
		res.Fates = append(res.Fates, fate)
	}
	for _, b := range j.bounces {
		to := b.Recipient
		if to == "" {
			to = j.msg.To
		}
		res.Fates = append(res.Fates, Fate{State: Bounced, Err: office.RefusalError(b, to)})
	}
	if p.opt.Delivered != nil {
		p.opt.Delivered(res)
	}
	if p.opt.Linger > 0 { // a report of thousands
		m := *j.msg
		m.Body, res.Mail = "", &m
	}
	p.rep.Results = append(p.rep.Results, res)
}

// earlierFates are what earlier passes did for the message.
func (p *pass) earlierFates(j *job) []Fate {
	var out []Fate
	if j.past == nil {
		return out
	}
	if j.past.asked != "" && !j.world.Released {
		out = append(out, Fate{State: Asked, Approval: j.past.asked})
	}
	for _, aid := range slices.Sorted(maps.Keys(j.past.delivered)) {
		if a, ok := p.reg.ByAID(aid); ok && !slices.ContainsFunc(j.deliveries, func(d *delivery) bool { return d.To.AID == aid }) {
			out = append(out, Fate{Agent: a, State: Delivered})
		}
	}
	return out
}

// giveUp bounces one recipient's part of a message if its mailbox has been
// broken for too long, counted from the first try, not from when it was
// written. Until then the message stays in the outbox.
func (p *pass) giveUp(j *job, d *delivery) bool {
	patience := p.o.Config.UndeliverableAfter()
	if j.past == nil || j.past.deferred.IsZero() || p.now.Sub(j.past.deferred) <= patience {
		return false
	}
	j.bounces = append(j.bounces, policy.Bounce{
		Kind: mail.KindDelivery, Recipient: d.To.Name,
		Reason: "the inbox of " + d.To.Name + " could not be written for " + patience.String() + ": " + mail.Neutralise(d.err.Error(), false),
		Hint:   "ask a person to run post doctor, then send it again",
	})
	return true
}
