package router

import (
	"errors"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
)

// Order is what a person, or whom it is owed to, wants done about debts: have
// the debtor reminded, or waive it (design §7, debts).
type Order struct {
	ID     mail.ID // the message that is owed for
	Debtor string  // aid; "" is everybody who owes for it
	By     string  // aid of whom it is owed to; "" is a person
	Waive  bool    // else remind
	Why    string  // of a waiver; may be empty
	Force  bool    // remind again within policy.RemindEvery; a person's only
}

// Ordered is what became of an order, for one debt or, with a zero Debt.ID, for
// the whole of it.
type Ordered struct {
	Order
	Debt policy.Debt
	// Notice is the message that tells the debtor; Told, that it is in the inbox.
	Notice mail.ID
	Told   bool
	// Already: it was waived before. The notices are made sure of.
	Already bool
	// Err: KindNotFound (nobody owes that), KindRule (not for them to do, or
	// reminded lately), KindStore.
	Err error
}

// orders carries out what the pass was asked to do about debts. A waiver is in
// the journal before it is in the ledger, and there before anybody is told of
// it: the debtor of a debt that still stands is never told otherwise.
func (p *pass) orders() error {
	if len(p.opt.Orders) == 0 {
		return nil
	}
	if _, _, err := p.clocks(); err != nil { // how long ago something was depends on it
		return err
	}
	book, err := debt.Load(p.o.FS)
	if err != nil {
		return err
	}
	for _, o := range p.opt.Orders {
		found := matching(book, p.o.Settings(), o)
		if len(found) == 0 {
			p.rep.Ordered = append(p.rep.Ordered, Ordered{Order: o, Err: &mail.Error{Op: o.op(), Kind: mail.KindNotFound, ID: o.ID,
				Err: errors.New("nobody owes an answer to it"), Hint: `see "post owed --all"`}})
		}
		for _, done := range found {
			p.carryOut(&done)
			p.rep.Ordered = append(p.rep.Ordered, done)
		}
	}
	return nil
}

// matching lists the debts that an order means: open ones, or, of a waiver that
// is given again, closed ones that were waived.
func matching(book debt.Book, s policy.Settings, o Order) []Ordered {
	var out []Ordered
	means := func(id mail.ID, debtor string) bool { return id == o.ID && (o.Debtor == "" || o.Debtor == debtor) }
	for _, d := range book.Open(s) {
		if means(d.ID, d.Debtor) {
			out = append(out, Ordered{Order: o, Debt: d})
		}
	}
	if len(out) > 0 || !o.Waive {
		return out
	}
	for _, d := range book.Waived(s) {
		if means(d.ID, d.Debtor) {
			out = append(out, Ordered{Order: o, Debt: d, Already: true})
		}
	}
	return out
}

func (o Order) op() string {
	if o.Waive {
		return "waive"
	}
	return "remind"
}

func (p *pass) carryOut(done *Ordered) {
	refuse := func(why, hint string) {
		done.Err = &mail.Error{Op: done.op(), Kind: mail.KindRule, ID: done.ID, Err: errors.New(why), Hint: hint}
	}
	d := done.Debt
	switch {
	case !policy.MayChase(d, done.By):
		refuse("it is owed to somebody else", "only a person, or whom it is owed to, may do that")
	case done.Waive:
		done.Err = p.waive(done)
	case done.Force && done.By != "":
		refuse("only a person may insist", "wait "+policy.RemindEvery.String()+" between two reminders")
	case !done.Force && policy.RemindedLately(d, p.now):
		refuse("its debtor was reminded "+p.minutesAgo(d.LastReminded),
			"one reminder an hour is enough; a person may insist with --force")
	default:
		done.Err = p.remind(done)
	}
}

func (p *pass) minutesAgo(at time.Time) string {
	if min := int(p.now.Sub(at) / time.Minute); min > 0 {
		return strconv.Itoa(min) + " min ago"
	}
	return "just now"
}

func (p *pass) remind(done *Ordered) error {
	d := done.Debt
	if err := p.tellDebt(done, policy.Remind(d, p.reg, done.By, p.now)); err != nil {
		return err
	}
	return p.enterDebt(d, journal.Reminded, "asked for by "+p.asker(done.By),
		policy.DebtEvent{Op: policy.OpRemind, ID: d.ID, Debtor: d.Debtor, Kind: d.Kind, At: p.now, Asker: askerID(done.By)})
}

func (p *pass) waive(done *Ordered) error {
	d := done.Debt
	if !done.Already {
		reason := "waived by " + p.asker(done.By)
		if done.Why != "" {
			reason += ": " + mail.Neutralise(mail.CleanSubject(done.Why), false)
		}
		err := p.enterDebt(d, journal.Discharged, reason,
			policy.DebtEvent{Op: policy.OpWaive, ID: d.ID, Debtor: d.Debtor, At: p.now, Asker: askerID(done.By)})
		if err != nil {
			return err
		}
	}
	for _, t := range policy.Waived(d, p.reg, done.By, done.Why) {
		if err := p.tellDebt(done, t); err != nil {
			return err
		}
	}
	if done.By != "" {
		return nil
	}
	return p.closeOverdue(d)
}

// enterDebt puts an event into the journal, then into the ledger.
func (p *pass) enterDebt(d policy.Debt, event, reason string, e policy.DebtEvent) error {
	debtor, _ := p.reg.ByAID(d.Debtor)
	if err := p.append(journal.Record{At: p.now, Event: event, ID: d.ID, Agent: debtor.Name, AID: d.Debtor, Conversation: d.Conversation,
		Detail: map[string]string{"reason": reason}}); err != nil {
		return err
	}
	if err := p.journal.Sync(); err != nil {
		return err
	}
	return p.ledger(e)
}

// tellDebt writes one notice; that to the debtor is the one reported.
func (p *pass) tellDebt(done *Ordered, t policy.Tell) error {
	d := done.Debt
	subject := "Reminder"
	if done.Waive {
		subject = "Waived"
	}
	n := notice{to: t.To, cause: d.ID, key: []string{"tell", t.Cause}, reply: d.ID, conv: d.Conversation, subject: subject, body: t.Text}
	if t.To.AID == d.Debtor {
		done.Notice = n.derived()
		n.waives = done.Waive && t.To.Far() // whose own office has the debt, too
	}
	return p.notice(n)
}

// closeOverdue takes the notices about a debt that a person waived off their
// own desk: who waived it knows of it.
func (p *pass) closeOverdue(d policy.Debt) error {
	for _, stage := range []string{"remind:", "overdue:"} {
		id := approval.IDFor(policy.Notice, d.ID, stage+string(d.Kind)+":"+d.Debtor)
		err := approval.Decide(p.o.FS, id, approval.Decision{By: office.Human, At: p.now, Text: "waived"})
		if kind := mail.KindOf(err); err != nil && kind != mail.KindNotFound && kind != mail.KindConflict {
			return err
		}
	}
	return nil
}

// toldOf marks the orders of which the debtor has the notice by now.
func (p *pass) toldOf() {
	for i := range p.rep.Ordered {
		done := &p.rep.Ordered[i]
		for _, res := range p.rep.Results {
			for _, f := range res.Fates {
				done.Told = done.Told || done.Notice != "" && res.ID == done.Notice && f.State == Delivered && !f.Agent.Far()
			}
		}
	}
}

func askerID(by string) string {
	if by == "" {
		return office.Human
	}
	return by
}

func (p *pass) asker(by string) string {
	if a, ok := p.reg.ByAID(by); ok {
		return a.Name
	}
	return askerID(by)
}
