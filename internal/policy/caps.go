package policy

import (
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// The options of a release.
const (
	OptionDeliver = "deliver"
	OptionStop    = "stop"
)

// caps holds back what goes round in circles (design §7.3): nil lets the
// message pass. Mail to a person passes, because there it already is; unless it
// takes agents along in cc.
func (p *planner) caps(r *route) []Action {
	if p.from != byAgent || p.w.Released || p.w.Begun || r.person && !r.ccChosen {
		return nil
	}
	f := p.w.Fuse
	own := f.Blown && f.Message != "" && f.Message == p.m.ID
	hops := p.hops()
	conversation := Ask{Fuse: true}
	sender := Ask{Fuse: true, OfSender: true}
	chain := chainCap(p.s.FusePerHour+f.AllowedHour, p.w.Since, p.at)
	hopCap := p.s.HopCap * (1 + f.Allowed/p.s.FuseTurns) // each release grants as many again
	switch {
	case f.Blown && !own:
		return []Action{p.blown(f)}
	case own && f.OfSender:
		return p.release(r, sender, "the word has passed to "+p.name+" too often within an hour")
	case hops > hopCap: // blows the conversation's fuse, so that a person's stop holds for what follows
		return p.release(r, conversation, fmt.Sprintf("it is reply %d in a chain of replies, and %d are allowed", hops, hopCap))
	case own:
		return p.release(r, conversation, "it blew the fuse of conversation "+quote(p.conversation()))
	case p.w.Turns > p.s.FuseTurns+f.Allowed:
		return p.release(r, conversation, fmt.Sprintf("the word has passed between agents %d times in conversation %s, and %d are allowed",
			p.w.Turns, quote(p.conversation()), p.s.FuseTurns+f.Allowed))
	case p.w.TurnsHour > chain:
		return p.release(r, sender, fmt.Sprintf("the word has passed to %s %d times on end, and %d are allowed",
			p.name, p.w.TurnsHour, chain))
	}
	return nil
}

func (p *planner) conversation() string { return Conversation(p.m, p.parent()) }

// blown refuses what comes after the message that blew the fuse.
func (p *planner) blown(f FuseState) Bounce {
	b := Bounce{
		Kind:   mail.KindRule,
		Reason: "conversation " + quote(p.conversation()) + " is stopped until a person decides",
		Hint:   "wait for the decision, or ask: post send human --act query",
	}
	if f.OfSender {
		b.Reason = "the word has passed to " + p.name + " too often within an hour; it is stopped until a person decides"
	}
	if f.Approval != "" {
		b.Reason += " approval " + f.Approval
	}
	return b
}

// release puts the message itself before a person, with the scope that ask
// has, and tells both sides. Nothing is delivered, owed or settled until then.
func (p *planner) release(r *route, ask Ask, why string) []Action {
	const cause = "release"
	ask.Kind = Release
	ask.Why = fmt.Sprintf("a message from %s to %s is held: %s", p.name, r.label, why)
	ask.Options = []string{OptionDeliver, OptionStop}
	ask.Expires = p.at.Add(p.s.Expire)
	out := []Action{ask, Tell{
		To: p.w.Sender, Cause: cause,
		Text: fmt.Sprintf("Your message to %s was not delivered: %s. A person decides whether it goes on. Do not send it again.", r.label, why),
	}}
	for _, a := range r.to {
		out = append(out, Tell{
			To: a, Cause: cause,
			Text: fmt.Sprintf("A message from %s to you is held: %s. A person decides whether it goes on.", p.name, why),
		})
	}
	return out
}

// Seen is one message in the traffic of one mailbox with other agents. Mail
// from human and postroom may be in the list and counts for nothing; mail *to*
// human must not be in it.
type Seen struct {
	Conversation string
	FromAID      string // "" is human or postroom
	Turns        int    // Envelope.Turns
	At           time.Time
	Sent         bool // written by the mailbox's owner
	// Chain and Since are the chain that the message continued, see Chain.
	Chain int
	Since time.Time
}

// Turns is how often the word will have passed from one agent to another in
// conversation with the mailbox's next message: one more than the greatest
// Turns of a message it got there, in to or cc; 0 if it got none. So a burst one
// way counts nothing, a circle of any length counts each step, and whether
// in_reply_to is set plays no part. The result is World.Turns, and is stamped
// as Envelope.Turns.
func Turns(traffic []Seen, conversation string) int {
	turns := 0
	for _, s := range traffic {
		if !s.Sent && s.FromAID != "" && s.Conversation == conversation {
			turns = max(turns, s.Turns+1)
		}
	}
	return turns
}
