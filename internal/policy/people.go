package policy

import (
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// people finds what a person is asked, and the notices to the author that a
// plan has: at most one question, whatever its reasons.
func (p *planner) people(r *route) (*Ask, []Tell) {
	var tells []Tell
	var why []string
	if r.person {
		a, told := p.askPerson()
		if told != nil {
			tells = append(tells, *told)
		}
		if a != nil {
			return a, tells
		}
	} else if r.ccPerson {
		why = append(why, p.name+" sends a person a copy of a message to "+r.label)
	}
	for _, a := range r.to {
		switch absent := a.Archived; {
		case !absent || p.from != byOffice && !p.obliges():
		case p.from == byAgent:
			tells = append(tells, Tell{
				To: p.w.Sender, Cause: "archived:" + a.Name,
				Text: "Your " + string(p.m.Act) + " was put into the inbox of " + a.Name +
					", who is archived. Nobody is there to answer it. Ask somebody else.",
			})
		default:
			why = append(why, "a message from "+p.name+" went to "+a.Name+", who is archived: nobody is there to read it")
		}
	}
	if p.from == byOffice {
		for _, b := range r.dropped {
			why = append(why, p.name+" could not tell "+b.Recipient+": "+b.Reason)
		}
	}
	if len(why) == 0 {
		return nil, tells
	}
	return &Ask{Kind: Notice, Why: strings.Join(why, "; ")}, tells
}

// askPerson makes the question or notice that a message to a person is (design
// §7.5), or answers from the record what a person refused already.
func (p *planner) askPerson() (*Ask, *Tell) {
	kind := Notice
	why := p.name + " tells a person something (" + string(p.m.Act) + ")"
	if p.obliges() || p.m.NeedsHuman {
		kind = Question
		why = p.name + " needs a person's answer (" + string(p.m.Act) + ")"
	}
	if a, err := mail.ParseAddress(p.m.To); err != nil || p.ours(a).String() != mail.NameHuman {
		why += "; it was addressed to " + p.m.To
	}
	if r := p.w.Rejected; kind == Question && p.from == byAgent && p.rejected(r) {
		text := "A person already refused this very question"
		if !r.At.IsZero() {
			text += " at " + r.At.UTC().Format("2006-01-02 15:04 UTC")
		}
		text += " (approval " + r.Approval + "). Nobody was asked again."
		if r.Text != "" {
			text += " They wrote:\n\n" + r.Text
		}
		return nil, &Tell{To: p.w.Sender, Cause: "rejected:" + r.Approval, Text: text}
	}
	a := &Ask{Kind: kind, Why: why}
	if kind == Question {
		a.Expires = p.at.Add(p.s.Expire)
		if d := p.m.Deadline; !d.IsZero() {
			a.Expires = d
		}
	}
	return a, nil
}

func (p *planner) rejected(r *Rejection) bool {
	return r != nil && (r.At.IsZero() || p.at.Sub(r.At) <= p.s.AskAgain)
}
