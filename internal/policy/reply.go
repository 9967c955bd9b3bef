package policy

import (
	"github.com/postroom/postroom/internal/mail"
)

// replyFault says why the message may not be a reply to its parent (design
// §7.2, §7.3). A person may answer anything the office has: an answer to an
// inform with needs_human is one.
func (p *planner) replyFault() *Bounce {
	if p.m.InReplyTo == "" || p.w.Begun {
		return nil
	}
	q := p.parent()
	if q == nil && p.w.Sender.Far() {
		return nil // a message between other stations, which this office never saw
	}
	if q == nil {
		return &Bounce{
			Kind:   mail.KindParent,
			Reason: "in_reply_to " + quote(string(p.m.InReplyTo)) + " is no message of this office",
			Hint:   "take the id from post inbox --all, or send it without in_reply_to",
		}
	}
	if p.from == byHuman || p.farPerson() {
		return nil
	}
	if p.w.Sender.Far() { // it may have got a message of a third station that had a copy for us
		return p.terminalFault(q)
	}
	if !q.Sent && !q.Received && !q.CC {
		return &Bounce{
			Kind:   mail.KindParent,
			Reason: p.name + " neither sent nor got " + quote(string(p.m.InReplyTo)),
			Hint:   "reply to a message of your own mailbox: post inbox --all",
		}
	}
	return p.terminalFault(q)
}

// terminalFault says why q takes no reply at all; nil if it does.
func (p *planner) terminalFault(q *Parent) *Bounce {
	b := &Bounce{Kind: mail.KindTerminal}
	whom := q.From
	if q.Sent {
		whom = p.m.To
	}
	switch {
	case fromOffice(q):
		b.Reason = "a bounce or notice from postroom takes no reply"
		b.Hint = "do what it says, or write to the agent or person concerned"
	case q.FromHuman && !q.Act.Obliges():
		b.Reason = "a person's " + string(q.Act) + " asks for no answer"
		b.Hint = "for something new: post send human --act query"
	case q.Act.Terminal():
		b.Reason = "a reply to " + string(q.Act) + " is not allowed: it ends the exchange"
		b.Hint = "nothing is owed; for something new: post send " + whom + " --act request"
	default:
		return nil
	}
	return b
}

func fromOffice(q *Parent) bool {
	return !q.FromHuman && (officeName(q.From) || q.FromAID == "")
}

// settle says what the reply does to its author's debt. Only somebody who got
// the parent in `to` owes, and only an answer that reaches the creditor
// counts. A reply that itself obliges leaves the debt open. A reply to
// broadcast or a channel settles once, however many get it.
func (p *planner) settle(r *route) *Settle {
	q := p.parent()
	if q == nil || p.from != byAgent || !q.Received || !q.Obliges || !p.reaches(r, q) {
		return nil
	}
	s := &Settle{Parent: q.ID, Debtor: p.w.Sender.AID, By: p.m.Act}
	switch {
	case p.m.Act == mail.Agree:
		s.Agreed = true
		s.Due = Due(p.m, p.s, p.at)
	case !p.m.Act.Discharges():
		return nil
	}
	return s
}

// reaches reports whether the author of q is among the recipients.
func (p *planner) reaches(r *route, q *Parent) bool {
	if q.FromHuman {
		return r.person || r.ccPerson
	}
	return hasAgent(r.to, q.FromAID) || hasAgent(r.cc, q.FromAID)
}
