package mailbox

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// Reach is whom one message of a draft would reach.
type Reach struct {
	To      string // the address as written
	Agents  []Reached
	Person  string   // why it would be put before a person, "" if it is not
	Release bool     // a person has to let it through first
	Told    []string // what the author would be told besides
	Missed  []string // who would not get it, and why
}

// Reached is one agent that would get the message.
type Reached struct {
	Name     string
	Archived bool
	CC       bool
	Obliges  bool      // it would owe an answer
	Due      time.Time // by then
}

// Preview says what Send would do with a draft now, by the very rules, and
// stores nothing. Its errors are those with which Send would refuse.
func (m *Mailbox) Preview(d Draft) ([]Reach, error) {
	msgs, worlds, err := m.prepare(&d, &once{office: m.Office})
	if err != nil {
		return nil, err
	}
	out := make([]Reach, len(msgs))
	for i, msg := range msgs {
		out[i] = reachOf(msg, policy.Plan(msg, worlds[i], m.now()))
	}
	return out, nil
}

func reachOf(msg *mail.Message, plan []policy.Action) Reach {
	r := Reach{To: msg.To}
	for _, a := range plan {
		switch a := a.(type) {
		case policy.Deliver:
			r.Agents = append(r.Agents, Reached{a.To.Name, a.To.Archived, a.As == policy.AsCC, a.Obliges, a.Due})
		case policy.Ask:
			r.Person, r.Release = a.Why, a.Kind == policy.Release
		case policy.Tell:
			r.Told = append(r.Told, a.Text)
		case policy.Bounce:
			r.Missed = append(r.Missed, a.Reason)
		}
	}
	return r
}
