package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// DebtKind says what is owed.
type DebtKind string

// The kinds of debt: an answer, and after agree the work itself (design §7.2).
const (
	OwesAnswer DebtKind = "answer"
	OwesDone   DebtKind = "done"
)

// Debt is what one agent owes for one message.
type Debt struct {
	ID           mail.ID // the message that obliges
	Debtor       string  // aid
	Creditor     string  // aid; "" is a person
	Conversation string
	Kind         DebtKind
	Due          time.Time
	Grace        time.Duration // from due or reminder to a person; 0 is half the default Due
	Reminded     bool          // for this Kind, when it was due
	RemindedAt   time.Time
	LastReminded time.Time // whoever asked for it, also before it was due; zero for never
	Reminders    int       // how often
	Escalated    bool      // for this Kind
}

// Overdue says what is to be done about a debt now: remind its debtor, once,
// when it is due; then, Grace later, escalate it, once. Never both together: a
// pass that comes late still gives the debtor the grace (design §7, debts).
func Overdue(d Debt, now time.Time) (remind, escalate bool) {
	if now.Before(d.Due) {
		return false, false
	}
	if !d.Reminded {
		return true, false
	}
	from := d.Due
	if d.RemindedAt.After(from) {
		from = d.RemindedAt
	}
	grace := d.Grace
	if grace <= 0 {
		grace = Settings{}.withDefaults().Grace
	}
	return false, !d.Escalated && !now.Before(from.Add(grace))
}

// Shift moves the times of debts by a jump of the wall clock.
func Shift(debts []Debt, by time.Duration) []Debt {
	out := slices.Clone(debts)
	for i := range out {
		out[i].Due = out[i].Due.Add(by)
		if out[i].Reminded {
			out[i].RemindedAt = out[i].RemindedAt.Add(by)
		}
		if !out[i].LastReminded.IsZero() {
			out[i].LastReminded = out[i].LastReminded.Add(by)
		}
	}
	return out
}

// Chase makes the actions that Overdue calls for; nil if none. They belong to
// the message d.ID: Tell and Ask derive their ids from it and their cause.
func Chase(d Debt, dir Directory, now time.Time) []Action {
	remind, escalate := Overdue(d, now)
	stage := string(d.Kind) + ":" + d.Debtor
	debtor, known := dir.ByAID(d.Debtor)
	if !known {
		debtor.Name = d.Debtor
	}
	creditor, alive := dir.ByAID(d.Creditor)
	whom := "a person"
	if alive {
		whom = creditor.Name
	}
	owes := d.owes()
	since := ", due since " + d.Due.UTC().Format("2006-01-02 15:04 UTC")
	switch {
	case remind && known:
		return []Action{Tell{
			To: debtor, Cause: "remind:" + stage,
			Text: "You owe " + whom + " " + owes + string(d.ID) + since +
				howToAnswer(d.ID),
		}}
	case remind:
		return []Action{Ask{
			Kind: Notice, Cause: "remind:" + stage,
			Why: quote(d.Debtor) + ", who is not registered, owes " + whom + " " + owes + string(d.ID) + since,
		}}
	case !escalate:
		return nil
	}
	var out []Action
	if alive {
		out = append(out, Tell{
			To: creditor, Cause: "overdue:" + stage,
			Text: debtor.Name + " owes you " + owes + string(d.ID) + since +
				", and was reminded. A person has been told.",
		})
	}
	return append(out, Ask{
		Kind: Notice, Cause: "overdue:" + stage,
		Why: debtor.Name + " owes " + whom + " " + owes + string(d.ID) + since + ", and was reminded",
	})
}

func (d Debt) owes() string {
	if d.Kind == OwesDone {
		return "the work agreed on in "
	}
	return "an answer to "
}

func howToAnswer(id mail.ID) string {
	return ". Answer with post reply " + string(id) + " --act done, refuse or inform."
}

func sortDebts(debts []Debt) {
	slices.SortFunc(debts, func(a, b Debt) int {
		return cmp.Or(a.Due.Compare(b.Due), strings.Compare(string(a.ID), string(b.ID)), strings.Compare(a.Debtor, b.Debtor))
	})
}
