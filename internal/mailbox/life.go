package mailbox

import (
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// How says by what a step is known, in one line for a person. What is in it may
// come from outside: neutralise it.
func (s Step) How() string {
	text := s.Evidence
	for _, key := range []string{"state", "adapter", "approval", "reason", "verdict", "choice"} {
		if v := s.Detail[key]; v != "" {
			text += "; " + key + " " + v
		}
	}
	if s.Record > 0 && s.Evidence == "journal" {
		text = "journal record " + strconv.FormatUint(s.Record, 10) + text[len("journal"):]
	}
	return text
}

// What is owed, in words.
func (o Owed) What() string {
	if o.Kind == policy.OwesDone {
		return "the work agreed on"
	}
	return "an answer"
}

// Lateness says when it is due, and whether anything was done about it.
func (o Owed) Lateness() string {
	if o.Answered {
		return "answered, on its way"
	}
	text := mail.Age(o.Late) + " late"
	if o.Late < 0 {
		text = "due in " + mail.Age(-o.Late)
	}
	switch {
	case o.Escalated:
		return text + ", a person was told"
	case o.Reminded, !o.LastReminded.IsZero():
		return text + ", reminded"
	}
	return text
}

// OwedNow is a debt as it stands, with the names of today.
func (m *Mailbox) OwedNow(d policy.Debt) Owed {
	return Owed{Debt: d, DebtorName: m.nameOf(d.Debtor), CreditorName: m.nameOf(d.Creditor), Late: m.now().Sub(d.Due).Truncate(time.Second)}
}

// Stands says where a message stands and who is to act next, one line each.
func (m *Mailbox) Stands(l *Life) []string {
	var out []string
	w := l.Where
	switch {
	case w.Failed:
		out = append(out, "it was not delivered; it is kept in outbox/.failed of "+l.Message.From)
	case w.Approval != "" && !w.Decided:
		out = append(out, "it waits for a person: post approvals "+w.Approval)
	case len(w.Missing) > 0 && w.Outbox:
		out = append(out, "it waits in the outbox of "+l.Message.From+"; post route delivers it")
	case len(w.Missing) > 0:
		for _, a := range w.Missing {
			out = append(out, a.Name+" does not have it: post doctor")
		}
	}
	settled := len(out) == 0
	for _, f := range l.Far {
		out = append(out, f.Says())
		settled = settled && f.Arrived
	}
	for _, d := range l.Owed {
		o := m.OwedNow(d)
		out = append(out, o.DebtorName+" owes "+o.CreditorName+" "+o.What()+", "+o.Lateness())
	}
	if w.Delivered() && w.Outbox && w.Approval == "" {
		out = append(out, "it is delivered; the next pass files it in outbox/.sent of "+l.Message.From)
	}
	if len(l.Owed) == 0 && (len(out) == 0 || settled && len(out) == len(l.Far)) {
		out = append(out, "nothing is owed for it")
	}
	return out
}
