package mcpserver

import (
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// deliveryWait is how long a call waits until its mail is delivered.
const deliveryWait = 10 * time.Second

// sentView is the structured result of the tools that send: one object per
// message and recipient, as `post send --json` prints them. Note is the text:
// clients show their model either the one or the other.
type sentView struct {
	Messages []cli.Outcome `json:"messages"`
	Note     string        `json:"note"`
}

func (c *call) sendMail() (*reply, error) {
	draft := mailbox.Draft{To: c.list("to"), CC: c.list("cc"), Act: c.act("act"), Subject: c.text("subject"), Body: c.text("body"),
		Conversation: c.text("conversation"), Deadline: c.text("deadline"), Key: c.text("key"), Again: c.yes("again")}
	if c.err == nil && len(draft.To) == 0 {
		c.wrong("to", "names nobody", "name an agent; list_agents shows them")
	}
	return c.post(draft, "body", "")
}

func (c *call) replyMail() (*reply, error) {
	body, act, subject := c.text("body"), c.act("act"), c.text("subject")
	ref, deadline, key := c.text("id"), c.text("deadline"), c.text("key")
	if c.err != nil {
		return nil, c.err
	}
	id, err := c.desk.FindSeen(ref)
	if err != nil {
		return nil, err
	}
	draft, err := c.desk.ReplyDraft(id)
	if err != nil {
		return nil, err
	}
	draft.Body, draft.Deadline, draft.Key = body, deadline, key
	if act != "" {
		draft.Act = act
	}
	if subject != "" {
		draft.Subject = subject
	}
	return c.post(draft, "body", "")
}

func (c *call) askHuman() (*reply, error) {
	draft := mailbox.Draft{To: []string{mail.NameHuman}, Act: mail.Query, Subject: c.text("subject"), Body: c.text("question"),
		Deadline: c.text("deadline"), Key: c.text("key"), Options: c.list("options")}
	return c.post(draft, "question", "The answer comes as mail from human: wait_for_mail with reply_to waits for it.")
}

// post sends a draft and says what became of it. textArg is the argument that
// holds the text.
func (c *call) post(draft mailbox.Draft, textArg, then string) (*reply, error) {
	if c.err == nil && strings.TrimSpace(draft.Body) == "" {
		c.wrong(textArg, "is empty", "give the text of the message")
	}
	if c.err != nil {
		return nil, c.err
	}
	list, err := c.desk.Post(c.ctx, draft, deliveryWait)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, o := range list {
		lines = append(lines, o.Text())
	}
	exit := cli.Worst(list)
	failed := exit == mail.ExitStore || exit == mail.ExitRefused
	if !failed && then != "" {
		lines = append(lines, then)
	}
	note := strings.Join(lines, "\n")
	return &reply{text: note, data: sentView{list, note}, failed: failed}, nil
}
