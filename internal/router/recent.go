package router

import (
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// A pass is office.Recent: what it has done and not yet recorded counts when
// the next message is planned.

// Message finds a message of this pass.
func (p *pass) Message(id mail.ID) *mail.Message { return p.recent[id] }

// Received lists what this pass delivered to an agent and has not indexed yet.
func (p *pass) Received(aid string) []policy.Seen { return p.seen[aid] }

// Fuses reports whether any fuse is on record; nearly always there is none.
func (p *pass) Fuses() bool {
	if p.fuses == nil {
		names, err := p.o.FS.ReadNames(fusesDir)
		some := err != nil || len(names) > 0 // in doubt the fuse itself is asked
		p.fuses = &some
	}
	return *p.fuses
}

const fusesDir = "fuses"

func (p *pass) saw(j *job, d *delivery) {
	p.seen[d.To.AID] = append(p.seen[d.To.AID], policy.Seen{
		Conversation: j.msg.Conversation, FromAID: j.author.AID, Turns: j.world.Turns, Chain: j.world.TurnsHour, Since: j.world.Since,
	})
}

// recorded forgets what the indexes have now.
func (p *pass) recorded() { clear(p.seen) }
