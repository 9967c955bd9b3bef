package policy

import (
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Stamp returns a copy of m with what the rules compute: conversation (of a
// reply that names none), hops, requires_reply, and the envelope's recipients
// and turns (design §3, §4). A message that no rule of addresses, acts or
// replies lets pass gives the Bounce instead, so that post send can refuse
// before anything is stored. Hops and fuse are left to Plan: what they hold
// back is stored.
//
// Recipients that are already resolved stay as they are; so do the turns
// stamped with them. Stamping twice changes nothing.
func Stamp(m *mail.Message, w World) (*mail.Message, *Bounce) {
	p := newPlanner(m, w, time.Time{})
	if p.from == nobody {
		b := Plan(m, w, time.Time{})[0].(Bounce)
		return nil, &b
	}
	r, fault := p.route()
	if fault == nil && p.from != byOffice {
		if fault = p.actFault(); fault == nil {
			fault = p.replyFault()
		}
	}
	if fault != nil {
		return nil, fault
	}
	c := *m
	c.CC = slices.Clone(m.CC)
	c.Conversation = p.conversation()
	c.Hops = p.hops()
	c.RequiresReply = p.from != byOffice && RequiresReply(m)
	e := mail.Envelope{}
	if m.Envelope != nil {
		e = *m.Envelope
	}
	if m.Envelope == nil || len(e.Recipients)+len(e.CC) == 0 {
		e.Recipients, e.CC = aids(r.to), aids(r.cc)
		e.Turns = 0
		if p.from == byAgent {
			e.Turns = w.Turns
		}
	}
	c.Envelope = &e
	return &c, nil
}

func aids(list []Agent) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.AID)
	}
	return out
}

// Hops counts the replies up to a message: its parent's and one more, 0
// without a parent (design §7.3). What the author wrote plays no part.
func Hops(parent *Parent) int {
	if parent == nil {
		return 0
	}
	return parent.Hops + 1
}

// RequiresReply reports whether somebody has to answer m: a recipient, or a
// person (design §7.2, §7.5). Nobody has to answer postroom.
func RequiresReply(m *mail.Message) bool {
	return !officeName(m.From) && (m.Act.Obliges() || m.NeedsHuman)
}

// Conversation is the conversation of m: its own, else its parent's, else "",
// and the caller opens one.
func Conversation(m *mail.Message, parent *Parent) string {
	if m.Conversation == "" && parent != nil {
		return parent.Conversation
	}
	return m.Conversation
}

// Due is when an answer to m is due: its deadline, else Settings.Due after it
// was created; now counts only for a message that does not say when.
func Due(m *mail.Message, s Settings, now time.Time) time.Time {
	if !m.Deadline.IsZero() {
		return m.Deadline
	}
	if !m.CreatedAt.IsZero() {
		now = m.CreatedAt
	}
	return now.Add(s.withDefaults().Due)
}
