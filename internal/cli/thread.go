package cli

import (
	"context"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

func threadCommand() Command {
	return Command{
		Name: "thread", Summary: "show a conversation", Usage: "C|ID|last",
		Long: `Shows what you sent and received in a conversation, oldest first. Off a
terminal long texts are cut; "post read ID" shows all of one. Nothing counts as
read by this.`,
		Setup: plain(runThread),
	}
}

// threadView is one message of `post thread --json` (docs/json.md).
type threadView struct {
	ID           mail.ID   `json:"id"`
	From         string    `json:"from"`
	To           string    `json:"to"`
	Act          mail.Act  `json:"act"`
	Subject      string    `json:"subject"`
	Body         string    `json:"body"`
	Cut          bool      `json:"cut,omitempty"`
	Conversation string    `json:"conversation"`
	InReplyTo    mail.ID   `json:"in_reply_to,omitempty"`
	Hops         int       `json:"hops"`
	CreatedAt    time.Time `json:"created_at"`
}

const (
	// threadBody is how much of one text a thread shows off a terminal, in bytes.
	threadBody = 1 << 10
	// threadAll is how much of all of them.
	threadAll = mail.PartSize - 2<<10
)

func runThread(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, 1); err != nil {
		return err
	}
	d, _, err := e.openAnyDesk()
	if err != nil {
		return err
	}
	ref := args[0]
	if !strings.HasPrefix(ref, "conv-") { // an id, or the end of one; else a name that an author chose
		if id, err := d.findAny(ref); err == nil {
			ref = string(id)
		} else if mail.KindOf(err) == mail.KindAmbiguous || !mail.ValidConversation(ref) {
			return err
		}
	}
	msgs, err := d.Thread(ref)
	if err != nil {
		return err
	}
	left := threadAll
	for i, m := range msgs {
		body, cut := Text(m.Body), false
		if !e.StdoutTTY {
			room := min(threadBody, left)
			if cut = len(body) > room; cut {
				body = mail.Parts(body, max(room, 1))[0]
			}
			left -= len(body)
		}
		if e.JSON {
			e.Out.Object(threadView{m.ID, m.From, m.To, m.Act, m.Subject, body, cut, m.Conversation, m.InReplyTo, m.Hops, m.CreatedAt})
			continue
		}
		if i > 0 {
			e.Out.Printf("\n")
		}
		e.printTurn(m, body, cut, left > 0)
	}
	return nil
}

// printTurn prints one message of a thread.
func (e *Env) printTurn(m *mail.Message, body string, cut, room bool) {
	e.Out.Printf("%s  %s → %s  %s  %s\n", short(m.ID), Line(m.From), Line(m.To), m.Act, when(m.CreatedAt))
	switch {
	case e.StdoutTTY:
		e.Out.Printf("%s\n\n%s\n", e.Out.Bold(Line(m.Subject)), strings.TrimRight(body, "\n"))
	case room || !cut:
		e.fence(m.From, "Subject: "+cutTo(m.Subject, 200)+"\n\n"+body)
	}
	if cut {
		e.Out.Printf("cut here: post read %s\n", m.ID)
	}
}
