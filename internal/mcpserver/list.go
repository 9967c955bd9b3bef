package mcpserver

import (
	"fmt"
	"strings"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

const (
	listDefault = 20
	listMost    = 200
	// subjectWidth is how much of a subject a list shows, in characters.
	subjectWidth = 60
)

type listView struct {
	Messages []cli.MailView `json:"messages"`
	More     int            `json:"more,omitempty"` // how many are left out
	Note     string         `json:"note,omitempty"`
}

func (c *call) listMail() (*reply, error) {
	all, limit := c.yes("all"), c.number("limit", listDefault, 1, listMost)
	if c.err != nil {
		return nil, c.err
	}
	c.pass(c.ctx, c.desk)
	items, more, err := c.desk.Inbox(all, limit)
	if err != nil {
		return nil, err
	}
	view := listView{Messages: []cli.MailView{}, More: more}
	var b strings.Builder
	for _, it := range items {
		v := cli.ViewItem(it)
		v.Subject = cut(v.Subject)
		view.Messages = append(view.Messages, v)
		fmt.Fprintf(&b, "%s  %s from %s%s, %s ago: %s\n", it.ID.Short(), mail.Neutralise(it.Act, false), mail.Neutralise(it.From, false),
			state(it), cli.Ago(c.env.Now().Sub(it.ID.Time())), v.Subject)
	}
	var note []string
	switch {
	case len(items) == 0:
		note = append(note, "no mail that is not done")
	case more > 0:
		note = append(note, fmt.Sprintf("and %d more: list_mail with limit %d", more, min(len(items)+more, listMost)))
	}
	if len(items) > 0 && items[0].Unread() {
		note = append(note, "next: read_mail")
	}
	view.Note = strings.Join(note, "\n")
	return &reply{text: b.String() + view.Note, data: view, sent: c.receipts(surfaced("mcp list_mail", items...))}, nil
}

// state says in words how a message stands, behind its sender.
func state(it mailbox.Item) string {
	text := ""
	if it.As == mail.AsCC {
		text += ", a copy"
	}
	if !it.Unread() {
		text += ", " + string(it.State)
	}
	if it.Obliges && it.State != mailbox.Done {
		text += ", wants an answer"
	}
	return text
}

// cut makes a subject fit for a list.
func cut(s string) string { return mail.CutSubject(s, subjectWidth) }

// surfaced are the receipts for pointers that were put before their reader.
func surfaced(by string, items ...mailbox.Item) []mail.Receipt {
	var rs []mail.Receipt
	for _, it := range items {
		if it.State == mailbox.Unread {
			rs = append(rs, mail.Receipt{Event: mail.EventSurfaced, ID: it.ID, Evidence: by})
		}
	}
	return rs
}

type doneView struct {
	Messages []doneOne `json:"messages"`
	Note     string    `json:"note,omitempty"`
}

type doneOne struct {
	ID      mail.ID `json:"id"`
	State   string  `json:"state"`
	Already bool    `json:"already,omitempty"`
}

// allRead names what was read and is not done.
const allRead = "all-read"

func (c *call) markDone() (*reply, error) {
	refs := c.list("ids")
	if c.err == nil && len(refs) == 0 {
		c.wrong("ids", "names no message", "give ids, or all-read")
	}
	if c.err != nil {
		return nil, c.err
	}
	ids, err := c.handled(refs)
	if err != nil {
		return nil, err
	}
	done, err := c.desk.Finish(ids...)
	view := doneView{Messages: []doneOne{}}
	var b strings.Builder
	for _, f := range done {
		view.Messages = append(view.Messages, doneOne{f.ID, mail.EventDone, f.Already})
		word := "done"
		if f.Already {
			word = "done already"
		}
		fmt.Fprintf(&b, "%s: %s from %s\n", word, f.ID.Short(), mail.Neutralise(f.Item.From, false))
	}
	if err != nil {
		if len(done) == 0 {
			return nil, err
		}
		view.Note = mail.Neutralise(err.Error(), true)
		return &reply{text: b.String() + view.Note, data: view, failed: true}, nil
	}
	if view.Note = c.remind(done); len(done) == 0 {
		view.Note = "nothing is read and not done"
	}
	return &reply{text: b.String() + view.Note, data: view}, nil
}

func (c *call) handled(refs []string) ([]mail.ID, error) {
	var ids []mail.ID
	if len(refs) == 1 && refs[0] == allRead {
		items, err := c.desk.List(false)
		for _, it := range items {
			if it.State == mailbox.Read {
				ids = append(ids, it.ID)
			}
		}
		return ids, err
	}
	for _, ref := range refs {
		id, err := c.desk.FindSeen(ref)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// remind names those who still wait for an answer to what was put away.
func (c *call) remind(done []mailbox.Finished) string {
	owed, err := c.desk.Owed(c.desk.Author.Name)
	if err != nil {
		return "" // it was put away all the same
	}
	var b strings.Builder
	for _, o := range owed {
		for _, f := range done {
			if o.ID == f.ID && o.Debtor == c.desk.Author.AID {
				fmt.Fprintf(&b, "%s still waits for your answer to %s: reply_mail\n", o.CreditorName, f.ID.Short())
			}
		}
	}
	return b.String()
}
