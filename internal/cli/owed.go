package cli

import (
	"context"
	"flag"
	"time"

	"github.com/postroom/postroom/internal/mail"
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

func (v owedView) what() string {
	if v.Kind == "done" {
		return "the work agreed on"
	}
	return "an answer"
}

func (v owedView) lateness() string {
	late := time.Duration(v.LateSeconds) * time.Second
	if v.Answered {
		return "answered, on its way"
	}
	text := ago(late) + " late"
	if late < 0 {
		text = "due in " + ago(-late)
	}
	switch {
	case v.Escalated:
		return text + ", a person was told"
	case v.Reminded:
		return text + ", reminded"
	}
	return text
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
	var rows [][]string
	for _, o := range debts {
		v := d.viewDebt(o.Debt, o.Subject)
		v.Answered = o.Answered
		if e.JSON {
			e.Out.Object(v)
			continue
		}
		rows = append(rows, []string{v.Debtor, v.Creditor, v.what(), v.lateness(), short(v.ID), cutTo(v.Subject, subjectWidth)})
	}
	switch {
	case e.JSON:
	case len(rows) == 0:
		e.Out.Say("nothing is owed")
	default:
		e.Out.Table([]string{"WHO", "TO", "OWES", "DUE", "ID", "SUBJECT"}, rows)
	}
	return nil
}
