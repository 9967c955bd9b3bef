package router

import (
	"time"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// debts are what the message changes in the ledger: nobody owes an answer to
// what has not reached them, and nothing is settled by an answer that waits.
func (j *job) debts(now time.Time) []policy.DebtEvent {
	missed := map[string]bool{}
	for _, d := range j.deliveries {
		if d.err != nil {
			missed[d.To.AID] = true
		}
	}
	var out []policy.DebtEvent
	for _, e := range policy.Ledger(j.msg, j.actions, now) {
		if e.Op == policy.OpOwe && missed[e.Debtor] || e.Op != policy.OpOwe && len(missed) > 0 {
			continue
		}
		out = append(out, e)
	}
	return out
}

// owe appends to the ledger, the hint first: one that is too early costs a
// look, one that is too late a reminder.
func (p *pass) owe(events []policy.DebtEvent) ([]*spool.Ticket, error) {
	if len(events) == 0 {
		return nil, nil
	}
	if h, ok := debt.LoadHint(p.o.FS, p.boot); ok {
		lower := h
		for _, e := range events {
			if e.Op == policy.OpOwe || e.Op == policy.OpAgree {
				lower = lower.Lower(e.Due)
			}
		}
		if lower != h {
			if err := debt.SaveHint(p.o.FS, lower); err != nil {
				debt.DropHint(p.o.FS)
			}
		}
	}
	pending, err := debt.Append(p.o.FS, events...)
	if err != nil {
		return nil, err
	}
	return []*spool.Ticket{p.batch.Do(pending.Sync)}, nil
}
