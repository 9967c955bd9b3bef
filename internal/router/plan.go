package router

import (
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// past is what the journal says was done for a message before.
type past struct {
	delivered map[string]bool // by aid
	asked     bool
	bounced   map[string]bool // by recipient
	sections  map[string]bool // by transcript file
	deferred  time.Time       // when a recipient's part had to wait first
}

// plan decides about each message, in the order of their ids, so that a reply
// comes after what it answers.
func (p *pass) plan(jobs []*job) error {
	slices.SortStableFunc(jobs, func(a, b *job) int { return strings.Compare(string(a.msg.ID), string(b.msg.ID)) })
	for _, j := range jobs {
		if err := p.planOne(j); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) planOne(j *job) error {
	w, err := p.o.World(p.reg, j.author, j.msg, p)
	if err != nil {
		return err
	}
	if j.copied {
		if err := p.recall(j); err != nil {
			return err
		}
		w.Begun = len(j.past.delivered) > 0
		if w.Released, err = p.released(j.msg.ID); err != nil {
			return err
		}
	}
	p.recent[j.msg.ID] = j.msg
	j.world = w
	if held, err := p.held(j); err != nil || held {
		return err // before a person already: nothing to do but to retire it
	}
	p.overlay(j)
	j.actions = policy.Plan(j.msg, j.world, p.now)
	for _, a := range j.actions {
		if k, ok := a.(policy.Ask); ok && k.Fuse {
			p.blown[fuseOf(j, k.OfSender)] = j.msg.ID
		}
	}
	return nil
}

// recall reads from the journal what was done for this message. Only for
// messages that were seen before: after a crash, a release, a drop of a copy.
func (p *pass) recall(j *job) error {
	if j.past != nil {
		return nil
	}
	j.past = &past{delivered: map[string]bool{}, bounced: map[string]bool{}, sections: map[string]bool{}}
	from := j.msg.ID.Time()
	if j.msg.CreatedAt.Before(from) {
		from = j.msg.CreatedAt
	}
	return journal.EachMatching(p.o.FS, from, []byte(j.msg.ID), func(r journal.Record) error {
		if r.ID != j.msg.ID {
			return nil
		}
		switch r.Event {
		case journal.Delivered:
			j.past.delivered[r.AID] = true
		case journal.Escalated:
			j.past.asked = true
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

// held reports whether the message waits for, or was stopped by, a person.
func (p *pass) held(j *job) (bool, error) {
	if j.past == nil || !j.past.asked || j.world.Released || len(j.past.delivered) > 0 {
		return false, nil
	}
	_, _, err := approval.Get(p.o.FS, approval.IDFor(policy.Release, j.msg.ID, ""))
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
