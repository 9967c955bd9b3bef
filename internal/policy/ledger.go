package policy

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// DebtOp is what an event does to a debt.
type DebtOp string

// The events in the life of a debt.
const (
	OpOwe      DebtOp = "owe"
	OpSettle   DebtOp = "settle" // discharged by done, refuse or inform
	OpAgree    DebtOp = "agree"
	OpRemind   DebtOp = "remind"
	OpEscalate DebtOp = "escalate"
	OpWaive    DebtOp = "waive" // by a person or the creditor
	OpShift    DebtOp = "shift" // the wall clock jumped; concerns every debt before it
)

// DebtEvent is one entry of the ledger, as the journal keeps it. Which fields
// count depends on Op.
type DebtEvent struct {
	Op           DebtOp
	ID           mail.ID       // all but shift
	Debtor       string        // all but shift
	Creditor     string        // owe
	Conversation string        // owe
	Due          time.Time     // owe, agree
	Firm         bool          // owe
	Kind         DebtKind      // remind, escalate; "" is answer
	Asker        string        // remind, waive: who asked for it, an aid or human; "" is the office itself
	At           time.Time     // when it happened; a repeat of a shift must have the same
	By           time.Duration // shift
}

// Ledger turns the debts in a plan for m into events.
func Ledger(m *mail.Message, plan []Action, at time.Time) []DebtEvent {
	var out []DebtEvent
	for _, a := range plan {
		switch a := a.(type) {
		case Owe:
			out = append(out, DebtEvent{
				Op: OpOwe, ID: m.ID, Debtor: a.Debtor, Creditor: a.Creditor,
				Conversation: m.Conversation, Due: a.Due, Firm: a.Firm, At: at,
			})
		case Settle:
			e := DebtEvent{Op: OpSettle, ID: a.Parent, Debtor: a.Debtor, At: at}
			if a.Agreed {
				e.Op, e.Due = OpAgree, a.Due
			}
			out = append(out, e)
		}
	}
	return out
}

// FoldDebts returns the open debts, by due time. Repeats of an event change
// nothing, wherever they stand, and except for shifts the order of events does
// not matter either: a settle before its owe closes it.
//
// A debt that was agreed to is due when the first agree said, unless that is
// earlier or the author had set a deadline. Reminder and escalation count anew
// for it. A reminder that somebody asked for stands for the office's own only
// if the debt was due by then.
func FoldDebts(s Settings, events []DebtEvent) []Debt {
	grace := s.withDefaults().Grace
	accounts := map[account]*entry{}
	var order []*entry
	seen := map[eventKey]bool{}
	for _, e := range events {
		if seen[keyOf(e)] {
			continue
		}
		seen[keyOf(e)] = true
		if e.Op == OpShift {
			for _, a := range order {
				a.shift(e.By)
			}
			continue
		}
		k := account{e.ID, e.Debtor}
		if accounts[k] == nil {
			accounts[k] = &entry{}
			order = append(order, accounts[k])
		}
		accounts[k].add(e)
	}
	var open []Debt
	for _, a := range order {
		if a.owe.set && !a.closed {
			open = append(open, a.debt(grace))
		}
	}
	sortDebts(open)
	return open
}

type account struct {
	id     mail.ID
	debtor string
}

// entry is what the events say about one account.
type entry struct {
	owe, agree                  first
	reminded, escalated         first
	remindedDone, escalatedDone first
	asked                       []first // reminders that somebody asked for
	closed                      bool
}

// first keeps the earliest of the events put into it.
type first struct {
	set   bool
	e     DebtEvent
	moved time.Duration // by the shifts since
}

func (f *first) put(e DebtEvent) {
	c := e.At.Compare(f.e.At)
	if !f.set || c < 0 || c == 0 && e.Due.Before(f.e.Due) {
		*f = first{set: true, e: e}
	}
}

func (f *first) due() time.Time { return f.e.Due.Add(f.moved) }

func (f *first) at() time.Time { return f.e.At.Add(f.moved) }

func (a *entry) add(e DebtEvent) {
	switch {
	case e.Op == OpOwe:
		a.owe.put(e)
	case e.Op == OpAgree:
		a.agree.put(e)
	case e.Op == OpRemind && e.Asker != "":
		a.asked = append(a.asked, first{set: true, e: e})
	case e.Op == OpRemind && e.Kind == OwesDone:
		a.remindedDone.put(e)
	case e.Op == OpRemind:
		a.reminded.put(e)
	case e.Op == OpEscalate && e.Kind == OwesDone:
		a.escalatedDone.put(e)
	case e.Op == OpEscalate:
		a.escalated.put(e)
	case e.Op == OpSettle || e.Op == OpWaive:
		a.closed = true
	}
}

func (a *entry) shift(by time.Duration) {
	for _, f := range []*first{&a.owe, &a.agree, &a.reminded, &a.remindedDone} {
		f.moved += by
	}
	for i := range a.asked {
		a.asked[i].moved += by
	}
}

func (a *entry) debt(grace time.Duration) Debt {
	d := Debt{
		ID: a.owe.e.ID, Debtor: a.owe.e.Debtor, Creditor: a.owe.e.Creditor,
		Conversation: a.owe.e.Conversation, Kind: OwesAnswer, Due: a.owe.due(), Grace: grace,
	}
	reminded, escalated := a.reminded, a.escalated
	if a.agree.set {
		d.Kind = OwesDone
		reminded, escalated = a.remindedDone, a.escalatedDone
		if later := a.agree.due(); !a.owe.e.Firm && later.After(d.Due) {
			d.Due = later
		}
	}
	if reminded.set {
		d.Reminded, d.RemindedAt = true, reminded.at()
	}
	for _, f := range []first{a.reminded, a.remindedDone} {
		if f.set {
			d.remindedOnce(f.at())
		}
	}
	for _, f := range a.asked {
		a.remindedBy(&d, &f)
	}
	d.Escalated = escalated.set
	return d
}

func (d *Debt) remindedOnce(at time.Time) {
	d.Reminders++
	if at.After(d.LastReminded) {
		d.LastReminded = at
	}
}

// remindedBy counts a reminder that somebody asked for.
func (a *entry) remindedBy(d *Debt, f *first) {
	at := f.at()
	d.remindedOnce(at)
	kind := f.e.Kind
	if kind == "" {
		kind = OwesAnswer
	}
	if kind == d.Kind && !at.Before(d.Due) && (!d.Reminded || at.Before(d.RemindedAt)) {
		d.Reminded, d.RemindedAt = true, at
	}
}

// eventKey identifies an event; times without their zone.
type eventKey struct {
	op                             DebtOp
	id                             mail.ID
	debtor, creditor, conversation string
	due, at                        int64
	kind                           DebtKind
	asker                          string
	firm                           bool
	by                             time.Duration
}

func keyOf(e DebtEvent) eventKey {
	return eventKey{
		op: e.Op, id: e.ID, debtor: e.Debtor, creditor: e.Creditor, conversation: e.Conversation,
		due: e.Due.UnixMilli(), at: e.At.UnixMilli(), firm: e.Firm, kind: e.Kind, asker: e.Asker, by: e.By,
	}
}
