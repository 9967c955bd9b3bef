package router

import (
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// A pass is office.Recent: what it has done and not yet recorded counts when
// the next message is planned.

// Message finds a message of this pass.
func (p *pass) Message(id mail.ID) *mail.Message { return p.recent[id] }

// Received lists what an agent got lately: what this pass delivered, and what
// its index had when it was looked at first. What is in both counts once, since
// only the greatest counts.
func (p *pass) Received(aid string, read func() ([]policy.Seen, error)) ([]policy.Seen, error) {
	before, known := p.history[aid]
	if !known {
		var err error
		if before, err = read(); err != nil {
			return nil, err
		}
		p.history[aid] = before
	}
	return append(before[:len(before):len(before)], p.seen[aid]...), nil
}

// Fuses reports whether any fuse is on record; nearly always there is none.
func (p *pass) Fuses() bool {
	if p.fuses == nil {
		some := p.o.SomeFuse()
		p.fuses = &some
	}
	return *p.fuses
}

func (p *pass) saw(j *job, d *delivery) {
	p.seen[d.To.AID] = append(p.seen[d.To.AID], policy.Seen{
		Conversation: j.msg.Conversation, FromAID: j.author.AID, Turns: j.world.Turns, Chain: j.world.TurnsHour, Since: j.world.Since,
	})
}
