package router

import (
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// past is what the journal says was done for a message before.
type past struct {
	delivered map[string]bool // by aid
	asked     string          // the approval that it was put before a person under
	bounced   map[string]bool // by recipient
	sections  map[string]bool // by transcript file
	deferred  time.Time       // when a recipient's part had to wait first
}

// plan decides about each message, in the order of their ids, so that a reply
// comes after what it answers, and returns those that go on. What can't be
// planned, because its author's mailbox is broken, stays where it is.
func (p *pass) plan(jobs []*job) []*job {
	slices.SortStableFunc(jobs, func(a, b *job) int { return strings.Compare(string(a.msg.ID), string(b.msg.ID)) })
	return slices.DeleteFunc(jobs, func(j *job) bool {
		err := p.planOne(j)
		if err != nil {
			p.problem("plan "+string(j.msg.ID), j.author.Name, err)
			p.putOff(j)
		}
		return err != nil
	})
}

func (p *pass) planOne(j *job) error {
	if err := p.restamp(j); err != nil {
		return err
	}
	if j.copied {
		if err := p.recall(j); err != nil {
			return err
		}
		j.world.Begun = len(j.past.delivered) > 0
		var err error
		if j.world.Released, err = p.released(j.msg.ID); err != nil {
			return err
		}
	}
	p.recent[j.msg.ID] = j.msg
	if held, err := p.held(j); err != nil || held {
		return err // before a person already: nothing to do but to retire it
	}
	p.overlay(j)
	j.actions = policy.Plan(j.msg, j.world, p.now)
	if !delivers(j.actions) && !j.world.Begun && p.reached(j) {
		// A pass died after a part of it was in an inbox: no rule that has
		// changed since may refuse the rest.
		j.world.Begun = true
		j.actions = policy.Plan(j.msg, j.world, p.now)
	}
	for _, a := range j.actions {
		if k, ok := a.(policy.Ask); ok && k.Fuse {
			p.blown[fuseOf(j, k.OfSender)] = j.msg.ID
		}
	}
	return nil
}

// restamp gathers the facts about a message, and stamps it anew, under its id,
// if it says of itself what only they can say (design §4): its hops, whether it
// obliges, when it was written. Never after the office has seen it, and never
// what another office has stamped.
func (p *pass) restamp(j *job) error {
	var err error
	if j.world, err = p.o.World(p.reg, j.author, j.msg, p); err != nil || j.copied || j.author.AID == "" || j.author.Far() {
		return err
	}
	right, bounce := policy.Stamp(j.msg, j.world)
	if bounce != nil || right.Hops == j.msg.Hops && right.RequiresReply == j.msg.RequiresReply &&
		j.msg.CreatedAt.Sub(j.msg.ID.Time()).Abs() <= driftLimit {
		return nil
	}
	again, err := p.stampAdopted(j.author, j.draft, right)
	if err != nil {
		return err
	}
	*j = *again
	j.world, err = p.o.World(p.reg, j.author, j.msg, p)
	return err
}

func delivers(actions []policy.Action) bool {
	return slices.ContainsFunc(actions, func(a policy.Action) bool { _, ok := a.(policy.Deliver); return ok })
}

// reached reports whether the message is with one of its recipients.
func (p *pass) reached(j *job) bool {
	e := j.msg.Envelope
	for _, aid := range append(slices.Clone(e.Recipients), e.CC...) {
		if r, ok := p.reg.EntryByAID(aid); ok {
			if box, err := p.o.Box(r); err == nil {
				if state, err := box.Where(j.msg.ID); err == nil && state != spool.Absent {
					return true
				}
			}
		}
	}
	return false
}

// recall reads from the journal what was done for this message. Only for
// messages that were seen before: after a crash, a release, a drop of a copy.
func (p *pass) recall(j *job) error {
	if j.past != nil {
		return nil
	}
	j.past = &past{delivered: map[string]bool{}, bounced: map[string]bool{}, sections: map[string]bool{}}
	return journal.EachMatching(p.o.FS, p.since(j.msg), []byte(j.msg.ID), func(r journal.Record) error {
		if r.ID != j.msg.ID {
			return nil
		}
		switch r.Event {
		case journal.Delivered:
			j.past.delivered[r.AID] = true
		case journal.Escalated:
			j.past.asked = r.Detail["approval"]
		case journal.Bounced:
			j.past.bounced[r.Agent] = true
		case journal.Deferred:
			if j.past.deferred.IsZero() {
				j.past.deferred = r.At
			}
		case journal.Transcript:
			j.past.sections[r.File] = true
		}
		return nil
	})
}

// since is before everything that the journal can say of m, though clocks
// differ by a day or were set back since.
func (p *pass) since(m *mail.Message) time.Time {
	from := m.ID.Time()
	if m.CreatedAt.Before(from) {
		from = m.CreatedAt
	}
	if from = from.Add(-2 * driftLimit); from.After(p.now) {
		return time.Time{}
	}
	return from
}

// held reports whether the message waits for, or was stopped by, a person.
func (p *pass) held(j *job) (bool, error) {
	id := approval.IDFor(policy.Release, j.msg.ID, "")
	if j.past == nil || j.past.asked != id || j.world.Released || len(j.past.delivered) > 0 {
		return false, nil
	}
	_, _, err := approval.Get(p.o.FS, id)
	if mail.KindOf(err) == mail.KindNotFound {
		return false, nil
	}
	return err == nil, err
}

func fuseOf(j *job, ofSender bool) approval.FuseKey {
	if ofSender {
		return approval.AgentFuse(j.author.AID)
	}
	return approval.ConversationFuse(j.msg.Conversation)
}

// overlay adds to a message's world the fuses that messages before it in this
// round have blown.
func (p *pass) overlay(j *job) {
	for _, ofSender := range []bool{true, false} {
		if id, ok := p.blown[fuseOf(j, ofSender)]; ok && !j.world.Fuse.Blown && j.author.AID != "" {
			f := &j.world.Fuse
			f.Blown, f.Message, f.OfSender = true, id, ofSender
			f.Approval = approval.IDFor(policy.Release, id, "")
		}
	}
}

// released reports whether a person let this very message through.
func (p *pass) released(id mail.ID) (bool, error) {
	a, d, err := approval.Get(p.o.FS, approval.IDFor(policy.Release, id, ""))
	if mail.KindOf(err) == mail.KindNotFound {
		return false, nil
	}
	if err != nil || d == nil {
		return false, err
	}
	c := approval.Closed{Approval: *a, Decision: *d}
	return c.Delivers(), nil
}
