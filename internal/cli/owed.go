package cli

import (
	"context"
	"flag"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

func owedCommand() Command {
	return Command{
		Name: "owed", Summary: "show who owes whom an answer, and how late it is", Usage: "[--all]",
		Long: "An agent sees what it owes and what it is owed; --all, and a person, everything.\n" +
			"post remind ID reminds the debtor, post waive ID lets them off.",
		Setup: func(fs *flag.FlagSet) Run {
			all := fs.Bool("all", false, "everybody's")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				return runOwed(e, *all)
			}
		},
	}
}

// owedView is one debt (docs/json.md).
type owedView struct {
	ID           mail.ID   `json:"id"`
	Debtor       string    `json:"debtor"`
	Creditor     string    `json:"creditor"`
	Kind         string    `json:"owes"` // answer, done
	Due          time.Time `json:"due"`
	LateSeconds  int64     `json:"late_seconds"` // negative: not due yet
	Subject      string    `json:"subject,omitempty"`
	Conversation string    `json:"conversation,omitempty"`
	Reminded     bool      `json:"reminded"`
	RemindedAt   time.Time `json:"reminded_at,omitzero"`
	Escalated    bool      `json:"escalated"`
	Answered     bool      `json:"answered,omitempty"` // by mail that waits in one's outbox
}

func runOwed(e *Env, all bool) error {
	d, nobody, err := e.openAnyDesk()
	if err != nil {
		return err
	}
	whose := ""
	if !all && !nobody && !d.me.Human {
		whose = d.Author.Name
	}
	debts, err := d.Owed(whose)
	if err != nil {
		return err
	}
	if e.JSON {
		for _, o := range debts {
			e.Out.Object(ViewOwed(o))
		}
		return nil
	}
	if len(debts) == 0 {
		e.Out.Say("nothing is owed")
		return nil
	}
	e.DebtTable(debts)
	return nil
}

// ViewOwed is a debt as --json prints it.
func ViewOwed(o mailbox.Owed) OwedView {
	return OwedView{ID: o.ID, Debtor: o.DebtorName, Creditor: o.CreditorName, Kind: string(o.Kind), Due: o.Due,
		LateSeconds: int64(o.Late / time.Second), Subject: o.Subject, Conversation: o.Conversation,
		Reminded: o.Reminded || !o.LastReminded.IsZero(), RemindedAt: o.LastReminded, Escalated: o.Escalated, Answered: o.Answered}
}

// DebtTable prints who owes whom.
func (e *Env) DebtTable(debts []mailbox.Owed) {
	var rows [][]string
	for _, o := range debts {
		rows = append(rows, []string{o.DebtorName, o.CreditorName, o.What(), o.Lateness(), short(o.ID), cutTo(o.Subject, subjectWidth)})
	}
	e.Out.Table([]string{"WHO", "TO", "OWES", "DUE", "ID", "SUBJECT"}, rows)
}
