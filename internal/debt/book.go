// Package debt keeps who owes whom an answer: an append-only ledger of the
// rules' events, and a hint of when the next debt is due (design §7, §7.2).
// What the events amount to is policy.FoldDebts.
//
// Invariants. A complete line of the ledger never changes. An event that is
// repeated, as a pass after a crash repeats it, changes nothing; a closed debt
// is never opened again. The hint may be lost or early; one that could be late
// is never trusted, and then the ledger is read.
//
// Writing is for the holder of the office's lease; reading is for everybody.
package debt

import (
	"time"

	"github.com/postroom/postroom/internal/policy"
)

// Book is what the ledger holds.
type Book struct {
	Events  []policy.DebtEvent // in order; each jump of the clock once
	Damaged int                // lines that could not be read
}

// Open lists what is owed, the earliest due first.
func (b Book) Open(s policy.Settings) []policy.Debt { return policy.FoldDebts(s, b.Events) }

// Waived lists the debts that were waived, as they stood, as long as the ledger
// keeps them.
func (b Book) Waived(s policy.Settings) []policy.Debt {
	waived := map[account]bool{}
	for _, e := range b.Events {
		if e.Op == policy.OpWaive {
			waived[account{e.ID, e.Debtor}] = true
		}
	}
	var owed []policy.DebtEvent
	for _, e := range b.Events {
		if e.Op != policy.OpWaive && e.Op != policy.OpSettle && waived[account{e.ID, e.Debtor}] {
			owed = append(owed, e)
		}
	}
	return policy.FoldDebts(s, owed)
}

// add appends an event; of the shifts for one jump only the first counts,
// see ShiftEvent.
func (b *Book) add(e policy.DebtEvent) {
	if e.Op == policy.OpShift {
		for i := range b.Events {
			if b.Events[i].Op == policy.OpShift && b.Events[i].At.Equal(e.At) {
				return
			}
		}
	}
	b.Events = append(b.Events, e)
}

// Next returns when policy.Overdue will first want something done about one of
// the open debts, for the hint; zero for never.
func Next(open []policy.Debt) time.Time {
	var next time.Time
	for _, d := range open {
		t := d.Due
		if d.Reminded {
			if d.Escalated {
				continue
			}
			if d.RemindedAt.After(t) {
				t = d.RemindedAt
			}
			t = t.Add(d.Grace)
		}
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	return next
}
