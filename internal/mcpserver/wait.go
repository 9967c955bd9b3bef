package mcpserver

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// Clients give a call up after a minute or so.
const (
	waitDefault = 45
	waitMost    = 50
)

// progressEvery is how often a client that asked for it hears that the call
// still waits.
const progressEvery = 5 * time.Second

type waitView struct {
	Came    bool          `json:"came"`
	Message *cli.MailView `json:"message,omitempty"`
	Note    string        `json:"note"`
}

func (c *call) waitForMail() (*reply, error) {
	ref, match := c.text("reply_to"), mailbox.Match{Conversation: c.text("conversation"), From: c.text("from")}
	seconds := c.number("seconds", waitDefault, 1, waitMost)
	c.onlyOne("reply_to", "conversation", "from")
	if c.err != nil {
		return nil, c.err
	}
	var err error
	if ref != "" {
		if match.ReplyTo, err = c.desk.Find(ref); err != nil {
			return nil, err
		}
	}
	if from := match.From; from != "" && from != mail.NameHuman && from != mail.NamePostroom {
		a, err := c.desk.Agent(from)
		if err != nil {
			return nil, err
		}
		match.From = a.Name
	}
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	defer context.AfterFunc(c.leaving, cancel)()
	go c.progress(ctx, seconds)
	passes := c.desk.Passes()
	passes(ctx)
	it, err := c.desk.Wait(ctx, match, passes)
	switch {
	case err == nil:
		return c.pointer(*it), nil
	case mail.KindOf(err) == mail.KindTimeout && c.ctx.Err() == nil:
		note := "nothing came in " + strconv.Itoa(seconds) + " s; wait again, or do something else first"
		if c.leaving.Err() != nil {
			note = "the client asks nothing more, so the wait has ended"
		}
		return &reply{text: note, data: waitView{Note: note}}, nil
	}
	return nil, err
}

func (c *call) onlyOne(names ...string) {
	first := ""
	for _, n := range names {
		switch {
		case c.text(n) == "":
		case first == "":
			first = n
		default:
			c.wrong(n, "excludes "+first, "give one of the two")
		}
	}
}

// pointer is the reply that names a message: never its text.
func (c *call) pointer(it mailbox.Item) *reply {
	v := cli.ViewItem(it)
	v.Subject = cut(v.Subject)
	note := "next: read_mail with id " + it.ID.Short()
	text := fmt.Sprintf("%s from %s%s: %s\n%s", mail.Neutralise(it.Act, false), mail.Neutralise(it.From, false), state(it), it.ID, note)
	return &reply{text: text, data: waitView{Came: true, Message: &v, Note: note}, sent: c.receipts(surfaced("mcp wait_for_mail", it))}
}

// progress tells a client that asked for it how long the call has waited.
func (c *call) progress(ctx context.Context, seconds int) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	began, tick := time.Now(), time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		p := &mcp.ProgressNotificationParams{ProgressToken: token, Message: "no mail yet", Progress: time.Since(began).Round(time.Second).Seconds(), Total: float64(seconds)}
		if c.req.Session.NotifyProgress(ctx, p) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
