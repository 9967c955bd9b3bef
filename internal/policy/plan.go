package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// author says what sort of correspondent wrote a message.
type author int

const (
	nobody author = iota
	byAgent
	byHuman
	byOffice
)

// planner holds the input of one plan.
type planner struct {
	m    *mail.Message
	w    World
	s    Settings
	from author
	name string // the author's name in headers and sentences
	at   time.Time
}

// Plan applies the rules of design §7 to one message and returns what is to be
// done, in order: deliver, ask, owe, settle, tell, bounce (for single
// recipients), transcripts. It never returns an empty list.
//
// now counts only for a message without CreatedAt, so that planning again
// after a crash gives the same due times. m.From, m.Hops and m.RequiresReply
// count for nothing where World knows better (design §4).
func Plan(m *mail.Message, w World, now time.Time) []Action {
	p := newPlanner(m, w, now)
	switch p.from {
	case nobody:
		return []Action{Bounce{
			Kind:   mail.KindIdentity,
			Reason: "the sender " + quote(m.From) + " is nobody this office knows",
			Hint:   "join first: post join NAME",
		}}
	case byOffice:
		return p.planOffice()
	}
	r, fault := p.route()
	if fault == nil {
		fault = p.actFault()
	}
	if fault == nil {
		fault = p.replyFault()
	}
	if fault != nil {
		return []Action{*fault}
	}
	if held := p.caps(r); held != nil {
		return held
	}
	return p.perform(r)
}

func newPlanner(m *mail.Message, w World, now time.Time) *planner {
	p := &planner{m: m, w: w, s: w.Settings.withDefaults(), at: m.CreatedAt}
	if p.at.IsZero() {
		p.at = now
	}
	p.from, p.name = authorOf(m, w.Sender)
	return p
}

// authorOf trusts the owner of the outbox before what the message says: an
// agent that writes from: human is still that agent (design §4).
func authorOf(m *mail.Message, owner Agent) (author, string) {
	if owner.Far() && officeName(owner.Name) {
		return byOffice, owner.Name
	}
	if owner.AID != "" {
		return byAgent, owner.Name
	}
	name := owner.Name
	if name == "" {
		name = m.From
	}
	switch name {
	case mail.NameHuman:
		return byHuman, name
	case mail.NamePostroom:
		return byOffice, name
	}
	return nobody, name
}

// parent is the message replied to; nil if this is no reply or nothing known.
func (p *planner) parent() *Parent {
	if p.m.InReplyTo == "" || !p.w.ParentKnown {
		return nil
	}
	return p.w.Parent
}

// obliges reports whether recipients in `to` owe an answer. Nobody owes the
// office one (design §7.9).
func (p *planner) obliges() bool { return p.from != byOffice && p.m.Act.Obliges() }

func (p *planner) actFault() *Bounce {
	if p.m.Act.Known() {
		return nil
	}
	return &Bounce{
		Kind:   mail.KindInvalid,
		Reason: "there is no act " + quote(string(p.m.Act)),
		Hint:   "use request, query, propose, inform, agree, refuse or done",
	}
}

// planOffice plans a bounce or notice. It never bounces: what reaches nobody is
// put before a person (design §7.9).
func (p *planner) planOffice() []Action {
	r, fault := p.route()
	if fault != nil {
		return []Action{Ask{
			Kind: Notice,
			Why:  p.name + " could not tell " + quote(p.m.To) + ": " + fault.Reason,
		}}
	}
	return p.perform(r)
}

// perform turns a route into actions.
func (p *planner) perform(r *route) []Action {
	var out []Action
	due := Due(p.m, p.s, p.at)
	for _, a := range r.to {
		d := Deliver{To: a, As: r.as, Obliges: p.obliges()}
		if d.Obliges {
			d.Due = due
		}
		out = append(out, d)
	}
	for _, a := range r.cc {
		out = append(out, Deliver{To: a, As: AsCC})
	}
	ask, tells := p.people(r)
	if ask != nil {
		out = append(out, *ask)
	}
	if p.obliges() {
		for _, a := range r.to {
			out = append(out, Owe{Debtor: a.AID, Creditor: p.w.Sender.AID, Due: due, Firm: !p.m.Deadline.IsZero()})
		}
	}
	if s := p.settle(r); s != nil {
		out = append(out, *s)
	}
	out = append(out, p.waived(r)...)
	for _, t := range tells {
		out = append(out, t)
	}
	if p.from != byOffice {
		for _, b := range r.dropped {
			out = append(out, b)
		}
	}
	return append(out, p.transcripts(r)...)
}

// quote shows text that somebody wrote: on one line, cut, and harmless.
func quote(s string) string {
	const limit = 80
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strconv.Quote(s)
}
