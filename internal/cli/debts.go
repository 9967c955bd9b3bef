package cli

import (
	"context"
	"flag"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/router"
)

func remindCommand() Command {
	return Command{
		Name: "remind", Summary: "remind whoever owes an answer to a message", Usage: "ID [--debtor NAME] [--force]",
		Long: `For a person, and for an agent of what it is owed itself. The reminder comes
from postroom, and takes no answer of its own. One an hour is all a debt gets; a
person may insist.`,
		Examples: []string{"post remind 1c2d3e4f", "post remind 1c2d3e4f --debtor coder --force"},
		Setup: func(fs *flag.FlagSet) Run {
			var x debtOrder
			x.flags(fs)
			fs.BoolVar(&x.order.Force, "force", false, "though it was reminded within the hour; as a person")
			return x.run
		},
	}
}

func waiveCommand() Command {
	return Command{
		Name: "waive", Summary: "let somebody off an answer that is owed", Usage: "ID [--debtor NAME] [--why TEXT]",
		Long: `For a person, and for an agent of what it is owed itself. Nobody is reminded of
it or told that it is late any more; the debtor is told, and so is whom it was
owed to. Why is kept in the record, and told to them if a person wrote it.`,
		Examples: []string{`post waive 1c2d3e4f --why "Done by hand."`},
		Setup: func(fs *flag.FlagSet) Run {
			x := debtOrder{order: router.Order{Waive: true}}
			x.flags(fs)
			fs.StringVar(&x.order.Why, "why", "", "the reason, as `TEXT`")
			return x.run
		},
	}
}

// debtOrder is a command that does something about debts.
type debtOrder struct {
	order  router.Order
	debtor string
}

func (x *debtOrder) flags(fs *flag.FlagSet) {
	fs.StringVar(&x.debtor, "debtor", "", "only what the agent `NAME` owes")
}

// orderedView is what became of an order for one debt (docs/json.md).
type orderedView struct {
	owedView
	State  string  `json:"state"` // reminded, waived, waived before, refused
	Notice mail.ID `json:"notice,omitempty"`
	Told   bool    `json:"told"` // the debtor has the notice
	Error  string  `json:"error,omitempty"`
}

func (x *debtOrder) run(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, 1); err != nil {
		return err
	}
	d, nobody, err := e.openAnyDesk()
	if err != nil {
		return err
	}
	if nobody || d.me.Human {
		if err := e.RequirePerson(e.personCheck()); err != nil {
			return err
		}
	} else {
		x.order.By = d.Author.AID
	}
	if x.order.ID, err = d.findAny(args[0]); err != nil {
		return err
	}
	if x.debtor != "" && x.debtor != mail.NameHuman {
		r, err := findAgent(d.Registry, e.name, x.debtor)
		if err != nil {
			return err
		}
		x.order.Debtor = r.AID
	}
	done, _, err := d.dispatcher().Order(ctx, e.patience(), x.order)
	if err != nil {
		return err
	}
	return d.sayOrdered(done)
}

// sayOrdered tells of each debt. Refused ones make the exit code, but of several
// debtors only if all were.
func (d *desk) sayOrdered(list []router.Ordered) error {
	var failed error
	good := 0
	for _, o := range list {
		if o.Err != nil {
			failed = o.Err
		} else {
			good++
		}
	}
	if good == 0 && len(list) == 1 {
		return failed
	}
	for _, o := range list {
		d.sayOrder(o)
	}
	if good == 0 {
		return Said(exitOf(failed))
	}
	return nil
}

func (d *desk) sayOrder(o router.Ordered) {
	v := orderedView{owedView: d.viewDebt(o.Debt, ""), State: "reminded", Notice: o.Notice, Told: o.Told}
	if m, _, err := d.Office.ReadMessage(o.ID); err == nil {
		v.Subject = m.Subject
	}
	switch {
	case o.Err != nil:
		v.State, v.Error = "refused", o.Err.Error()
	case o.Already:
		v.State = "waived before"
	case o.Waive:
		v.State = "waived"
	}
	if d.e.JSON {
		d.e.Out.Object(v)
		return
	}
	out := d.e.Out
	switch {
	case o.Err != nil:
		d.e.Warn("%v", o.Err)
		return
	case o.Already:
		out.Printf("waived before: %s owes %s nothing for %s\n", Line(v.Debtor), Line(v.Creditor), o.ID)
		return
	case o.Waive:
		out.Printf("waived: %s owes %s nothing more for %s\n", Line(v.Debtor), Line(v.Creditor), o.ID)
	default:
		out.Printf("reminded: %s of %s, owed to %s, %s\n", Line(v.Debtor), o.ID, Line(v.Creditor), v.dueText(d.e.Now()))
	}
	if !o.Told {
		how := "by the next pass"
		if _, station := mail.SplitStation(v.Debtor); station != "" {
			how = "over the link"
		}
		out.Say("%s is told %s", Line(v.Debtor), how)
	}
}

// dueText says how late a debt is, and nothing of reminders.
func (v owedView) dueText(now time.Time) string {
	if late := now.Sub(v.Due); late >= 0 {
		return ago(late) + " late"
	}
	return "due in " + ago(v.Due.Sub(now))
}
