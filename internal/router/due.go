package router

import (
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// hintAge is how old the hint's clocks may grow before they are written anew.
const hintAge = 30 * time.Second

// overdue reminds and escalates what is owed too long. Due times are absolute;
// a jump of the wall clock moves them (design §7, debts). Nearly always one
// look at the hint is enough.
func (p *pass) overdue() error {
	hint, known, err := p.clocks()
	if err != nil {
		return err
	}
	if known && !hint.Due(p.now) {
		if p.now.Sub(hint.Wall) < hintAge {
			return nil
		}
		return debt.SaveHint(p.o.FS, debt.Hint{Next: hint.Next, Wall: p.now, BootID: p.boot, Mono: p.up})
	}
	next, err := p.chase()
	if err != nil {
		debt.DropHint(p.o.FS)
		return err
	}
	return debt.SaveHint(p.o.FS, debt.Hint{Next: next, Wall: p.now, BootID: p.boot, Mono: p.up})
}

// clocks reads the hint and records a jump of the wall clock since it was saved;
// then the ledger has to be read. Asked again before a new hint is saved, it
// finds the same jump, which counts once.
func (p *pass) clocks() (hint debt.Hint, known bool, err error) {
	hint, known = debt.LoadHint(p.o.FS, p.boot)
	if !known {
		return hint, false, nil
	}
	jump := debt.Jump(hint, p.now, p.boot, p.up)
	if jump == 0 {
		return hint, true, nil
	}
	if p.jumped {
		return hint, false, nil
	}
	p.jumped = true
	return hint, false, p.shift(hint, jump)
}

func (p *pass) shift(hint debt.Hint, by time.Duration) error {
	if err := p.ledger(debt.ShiftEvent(hint, by)); err != nil {
		return err
	}
	if err := p.append(journal.Record{At: p.now, Event: journal.Drift, Detail: map[string]string{"jump": by.String()}}); err != nil {
		return err
	}
	return p.journal.Sync()
}

// chase goes through the ledger and returns when to look again.
func (p *pass) chase() (next time.Time, err error) {
	book, err := debt.Load(p.o.FS)
	if err != nil {
		return next, err
	}
	settings := p.o.Settings()
	for _, d := range book.Open(settings) {
		if err := p.chaseOne(d); err != nil {
			return next, err
		}
	}
	if book, err = debt.Load(p.o.FS); err != nil { // with what was just recorded
		return next, err
	}
	next = debt.Next(book.Open(settings))
	_, err = debt.Compact(p.o.FS, p.now)
	return next, err
}

func (p *pass) chaseOne(d policy.Debt) error {
	remind, escalate := policy.Overdue(d, p.now)
	if !remind && !escalate {
		return nil
	}
	for _, a := range policy.Chase(d, p.reg, p.now) {
		if err := p.chaseAction(d, a); err != nil {
			return err
		}
	}
	op, event := policy.OpRemind, journal.Reminded
	if escalate {
		op, event = policy.OpEscalate, journal.Overdue
	}
	debtor, _ := p.reg.ByAID(d.Debtor)
	if err := p.append(journal.Record{At: p.now, Event: event, ID: d.ID, Agent: debtor.Name, AID: d.Debtor, Conversation: d.Conversation}); err != nil {
		return err
	}
	if err := p.journal.Sync(); err != nil {
		return err
	}
	return p.ledger(policy.DebtEvent{Op: op, ID: d.ID, Debtor: d.Debtor, Kind: d.Kind, At: p.now})
}

func (p *pass) chaseAction(d policy.Debt, a policy.Action) error {
	switch a := a.(type) {
	case policy.Tell:
		return p.notice(notice{to: a.To, cause: d.ID, key: []string{"tell", a.Cause}, reply: d.ID, conv: d.Conversation,
			subject: "Overdue", body: a.Text})
	case policy.Ask:
		ap := &approval.Approval{
			ID: approval.IDFor(a.Kind, d.ID, a.Cause), Kind: a.Kind, Cause: a.Cause, Message: d.ID, Conversation: d.Conversation,
			Subject: "Overdue", Body: a.Why, Why: a.Why, Created: p.now, Expires: a.Expires,
		}
		if m, data, err := p.o.ReadMessage(d.ID); err == nil {
			ap.Subject, ap.Digest, ap.AddressedTo = "Overdue: "+m.Subject, mail.DigestOf(data), m.To
		}
		if _, err := approval.Create(p.o.FS, ap); err != nil {
			return err
		}
		return approval.SyncDir(p.o.FS)
	}
	return nil
}

// ledger appends to the debts, durably.
func (p *pass) ledger(events ...policy.DebtEvent) error {
	pending, err := debt.Append(p.o.FS, events...)
	if err != nil {
		return err
	}
	return pending.Sync()
}
