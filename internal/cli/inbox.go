package cli

import (
	"context"
	"flag"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

func inboxCommand() Command {
	return Command{
		Name: "inbox", Summary: "list what is unread", Usage: "[--all] [--limit N]",
		Long: `Lists unread mail in the order in which it was delivered, and what was read
and is not done yet behind it. "answer" marks what obliges you to answer. With
nothing new it prints nothing, except on a terminal.`,
		Setup: func(fs *flag.FlagSet) Run {
			var x inbox
			fs.BoolVar(&x.all, "all", false, "what is done too")
			fs.IntVar(&x.limit, "limit", 50, "at most `N` messages")
			return x.run
		},
	}
}

type inbox struct {
	all   bool
	limit int
}

// mailView is one message as lists show it (docs/json.md).
type mailView struct {
	ID           mail.ID       `json:"id"`
	Seq          uint64        `json:"seq"`
	From         string        `json:"from"`
	Act          string        `json:"act"`
	As           string        `json:"as"`
	Subject      string        `json:"subject"`
	Conversation string        `json:"conversation"`
	State        mailbox.State `json:"state"`
	Obliges      bool          `json:"obliges"`
	SentAt       time.Time     `json:"sent_at"`
}

func viewItem(it mailbox.Item) mailView {
	return mailView{it.ID, it.Seq, it.From, it.Act, it.As, it.Subject, it.Conversation, it.State, it.Obliges, it.ID.Time()}
}

func (x *inbox) run(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	if x.limit < 1 {
		return usageError(e.name, "--limit is at least 1", "")
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	d.drainOwn(ctx)
	if d.me.Human {
		e.Out.Say("a person's mail is in post approvals")
		return nil
	}
	items, more, err := x.items(d)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		if e.StdoutTTY {
			e.Out.Say("no new mail")
		}
		return nil
	}
	x.print(e, items, more)
	return d.surfaced("post inbox", items...)
}

// items lists what is to be shown, unread first, and how many are left out.
func (x *inbox) items(d *desk) (items []mailbox.Item, more int, err error) {
	if x.all {
		items, err = d.History(x.limit)
		return items, 0, err
	}
	all, err := d.List(false)
	for _, unread := range []bool{true, false} {
		for _, it := range all {
			if it.Unread() == unread {
				items = append(items, it)
			}
		}
	}
	if len(items) > x.limit {
		items, more = items[:x.limit], len(items)-x.limit
	}
	return items, more, err
}

func (x *inbox) print(e *Env, items []mailbox.Item, more int) {
	if e.JSON {
		for _, it := range items {
			e.Out.Object(viewItem(it))
		}
		return
	}
	e.Out.Table([]string{"ID", "FROM", "ACT", "AGE", "", "SUBJECT"}, mailRows(e, items))
	if more > 0 {
		e.Out.Say("… and %d more: post inbox --limit %d", more, len(items)+more)
	}
	if items[0].Unread() {
		e.Out.Say("next: post read next, or post read %s", short(items[0].ID))
	}
}

// subjectWidth is how much of a subject a list shows, in characters.
const subjectWidth = 60

func mailRows(e *Env, items []mailbox.Item) [][]string {
	rows := make([][]string, len(items))
	for i, it := range items {
		mark := ""
		if it.Obliges && it.State != mailbox.Done {
			mark = "answer"
		}
		if !it.Unread() {
			mark = string(it.State)
		}
		act := it.Act
		if it.As == mail.AsCC {
			act += " (cc)"
		}
		rows[i] = []string{short(it.ID), it.From, act, ago(e.Now().Sub(it.ID.Time())), mark, cutTo(it.Subject, subjectWidth)}
	}
	return rows
}

// short is what a person types for an id.
func short(id mail.ID) string { return id.Short() }

// cutTo cuts neutralised text to a width in characters.
func cutTo(s string, width int) string { return mail.CutSubject(s, width) }

// surfaced records that the pointers to these messages were put before their
// reader, once the output has taken them.
func (d *desk) surfaced(by string, items ...mailbox.Item) error {
	if err := d.e.taken(); err != nil {
		return err
	}
	var rs []mail.Receipt
	for _, it := range items {
		if it.State == mailbox.Unread {
			rs = append(rs, mail.Receipt{Event: mail.EventSurfaced, ID: it.ID, Evidence: by})
		}
	}
	if len(rs) == 0 {
		return nil
	}
	if err := d.Receipt(rs...); err != nil {
		d.e.Warn("%v", err) // the mail was shown all the same
	}
	return nil
}
