package cli

import (
	"context"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

func doneCommand() Command {
	return Command{
		Name: "done", Summary: "put messages away that are handled", Usage: "ID… | all-read",
		Long: `Handled mail is kept, and is listed by "post inbox --all". Putting a message
away answers nothing: what is owed stays owed.`,
		Setup: plain(runDone),
	}
}

func runDone(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, -1); err != nil {
		return err
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	var ids []mail.ID
	if len(args) == 1 && args[0] == "all-read" {
		items, err := d.List(false)
		if err != nil {
			return err
		}
		for _, it := range items {
			if it.State == mailbox.Read {
				ids = append(ids, it.ID)
			}
		}
		if len(ids) == 0 {
			e.Out.Say("nothing is read and not done")
			return nil
		}
	} else {
		for _, a := range args {
			id, err := d.findSeen(a)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
	}
	done, err := d.Finish(ids...)
	d.sayDone(done)
	return err
}

func (d *desk) sayDone(done []mailbox.Finished) {
	var owing []mail.ID
	for _, f := range done {
		if d.e.JSON {
			d.e.Out.Object(struct {
				ID      mail.ID `json:"id"`
				State   string  `json:"state"`
				Already bool    `json:"already,omitempty"`
			}{f.ID, mail.EventDone, f.Already})
			continue
		}
		word := "done"
		if f.Already {
			word = "done already"
		}
		d.e.Out.Printf("%s: %s from %s\n", word, f.ID, Line(f.Item.From))
		if f.Item.Obliges && !f.Already {
			owing = append(owing, f.ID)
		}
	}
	if len(owing) == 0 {
		return
	}
	owed, err := d.Owed(d.Author.Name)
	if err != nil {
		return
	}
	for _, o := range owed {
		for _, id := range owing {
			switch {
			case o.ID != id || o.Debtor != d.Author.AID:
			case o.Answered:
				d.e.Warn("your answer to %s waits in your outbox; do not send it again", o.CreditorName)
			default:
				d.e.Warn("%s still waits for your answer: post reply %s", o.CreditorName, short(id))
			}
		}
	}
}
