// Package debt keeps who owes whom an answer: an append-only ledger, its fold,
// and a hint of when the next debt is due (design §7, §7.2).
//
// Invariants. A debt is one obliging message and one debtor. It is opened once,
// closed once and never opened again. Folding events that were repeated, as a
// pass after a crash repeats them, gives the same book; so does a settlement
// that is recorded before what it settles. A complete line of the ledger never
// changes. The hint may be lost or early, never trusted when late: without it
// the ledger is read.
//
// Writing is for the holder of the office's lease; reading is for everybody.
package debt

import (
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// What says what an event does to a debt.
type What string

// The events.
const (
	Owe      What = "owe"      // Debtor owes Creditor an answer to ID by Due
	Settle   What = "settle"   // the reply By discharges it
	Agree    What = "agree"    // the reply By turns it into a debt of the work itself; a Due replaces the old one
	Remind   What = "remind"   // the debtor was reminded
	Escalate What = "escalate" // the creditor was told, a person was asked
	Waive    What = "waive"    // nobody expects the answer any more
	Shift    What = "shift"    // the wall clock jumped: every debt open by then is due Shift later
)

// Human is the creditor of what a person asked.
const Human = "human"

// Event is one line of the ledger. Times are UTC.
type Event struct {
	At   time.Time `json:"at"`
	What What      `json:"event"`
	// ID is the message that obliges; for a shift, what makes it known when
	// repeated, see ShiftEvent.
	ID           mail.ID       `json:"id"`
	Debtor       string        `json:"debtor,omitempty"`   // aid
	Creditor     string        `json:"creditor,omitempty"` // aid or Human
	Conversation string        `json:"conversation,omitempty"`
	Due          time.Time     `json:"due,omitzero"`
	By           mail.ID       `json:"by,omitempty"`
	Shift        time.Duration `json:"shift,omitempty"` // nanoseconds; negative if the clock was set back
}

// check returns what is wrong with an event that is to be written, or "".
func (e *Event) check() string {
	switch {
	case e.At.IsZero():
		return "no time"
	case e.ID == "":
		return "no id"
	}
	switch e.What {
	case Shift:
		return ""
	case Owe:
		if e.Creditor == "" || e.Due.IsZero() {
			return "no creditor or no due time"
		}
	case Settle, Agree, Remind, Escalate, Waive:
	default:
		return "unknown event " + string(e.What)
	}
	if e.Debtor == "" {
		return "no debtor"
	}
	return ""
}

// Debt is one answer that is, or was, owed.
type Debt struct {
	ID           mail.ID
	Debtor       string // aid
	Creditor     string // aid or Human; "" while only its settlement is known
	Conversation string
	Since, Due   time.Time
	Agreed       bool // the answer was given, the work is owed
	Reminded     time.Time
	Escalated    time.Time
	Closed       time.Time // zero: open
	Waived       bool
	By           mail.ID // the reply that settled it, or agreed
}

// Open reports whether the answer is still owed.
func (d *Debt) Open() bool { return d.Creditor != "" && d.Closed.IsZero() }

type key struct {
	id     mail.ID
	debtor string
}

func (d *Debt) key() key  { return key{d.ID, d.Debtor} }
func (e *Event) key() key { return key{e.ID, e.Debtor} }

// Book is the ledger, folded.
type Book struct {
	Debts   []Debt // in the order of the ledger
	Damaged int    // lines that could not be read
}

// Fold is pure. Unknown events, of newer tools, change nothing.
func Fold(events []Event) Book {
	var b Book
	at := make(map[key]int, len(events))
	shifts := make(map[mail.ID]bool)
	for i := range events {
		e := &events[i]
		switch e.What {
		case Shift:
			if !shifts[e.ID] {
				shifts[e.ID] = true
				b.shift(e.Shift)
			}
			continue
		case Owe, Settle, Agree, Remind, Escalate, Waive:
		default:
			continue
		}
		n, known := at[e.key()]
		if !known {
			n = len(b.Debts)
			at[e.key()] = n
			b.Debts = append(b.Debts, Debt{ID: e.ID, Debtor: e.Debtor})
		}
		b.Debts[n].apply(e)
	}
	return b
}

func (b *Book) shift(by time.Duration) {
	for i := range b.Debts {
		if d := &b.Debts[i]; d.Open() {
			d.Due = d.Due.Add(by)
		}
	}
}

// apply lets the first event of each kind count.
func (d *Debt) apply(e *Event) {
	switch e.What {
	case Owe:
		if d.Creditor == "" {
			d.Creditor, d.Conversation, d.Since = e.Creditor, e.Conversation, e.At
			if d.Due.IsZero() { // else agreed to before
				d.Due = e.Due
			}
		}
	case Settle, Waive:
		if d.Closed.IsZero() {
			d.Closed, d.By, d.Waived = e.At, e.By, e.What == Waive
		}
	case Agree:
		if d.Closed.IsZero() && !d.Agreed {
			d.Agreed, d.By = true, e.By
			if !e.Due.IsZero() {
				d.Due = e.Due
			}
		}
	case Remind:
		first(&d.Reminded, e.At)
	case Escalate:
		first(&d.Escalated, e.At)
	}
}

func first(t *time.Time, at time.Time) {
	if t.IsZero() {
		*t = at
	}
}

// Open lists what is owed, the earliest due first.
func (b *Book) Open() []Debt {
	var open []Debt
	for i := range b.Debts {
		if b.Debts[i].Open() {
			open = append(open, b.Debts[i])
		}
	}
	slices.SortStableFunc(open, func(x, y Debt) int { return x.Due.Compare(y.Due) })
	return open
}

// Find returns the debt of debtor for the message id.
func (b *Book) Find(id mail.ID, debtor string) (Debt, bool) {
	for i := range b.Debts {
		if d := &b.Debts[i]; d.ID == id && d.Debtor == debtor {
			return *d, true
		}
	}
	return Debt{}, false
}

// Next returns when the next thing has to be done, for the hint: a reminder
// when a debt is due, an escalation a grace period later; zero for nothing.
func (b *Book) Next(grace time.Duration) time.Time {
	var next time.Time
	for i := range b.Debts {
		d := &b.Debts[i]
		if !d.Open() || !d.Escalated.IsZero() {
			continue
		}
		t := d.Due
		if !d.Reminded.IsZero() {
			t = d.Reminded.Add(grace)
		}
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	return next
}
