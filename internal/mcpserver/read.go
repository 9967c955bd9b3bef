package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

// next names the oldest unread message.
const next = "next"

// partSize leaves room in 16 KB for what stands round a text, in bytes.
const partSize = mail.PartSize - 1<<10

// letter is the structured result of read_mail. Text holds subject and body
// between the marks of mail.Fence.
type letter struct {
	ID           mail.ID    `json:"id"`
	From         string     `json:"from"`
	To           string     `json:"to"`
	CC           []string   `json:"cc,omitempty"`
	Act          mail.Act   `json:"act"`
	Obliges      bool       `json:"obliges"`
	Text         string     `json:"text"`
	Part         int        `json:"part"`
	Parts        int        `json:"parts"`
	Conversation string     `json:"conversation"`
	InReplyTo    mail.ID    `json:"in_reply_to,omitempty"`
	Deadline     *time.Time `json:"deadline,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	Note         string     `json:"note,omitempty"` // what to do next
}

func (c *call) readMail() (*reply, error) {
	ref, part := c.text("id"), c.number("part", 1, 1, 1<<20)
	if c.err != nil {
		return nil, c.err
	}
	if ref == "" || ref == next {
		return c.readNext(part)
	}
	id, err := c.desk.Find(ref)
	if err != nil {
		return nil, err
	}
	o, err := c.desk.Open(id)
	if err != nil {
		return nil, err
	}
	r, receipt, err := c.show(o, part)
	if err != nil || receipt == nil {
		return r, err
	}
	r.sent = func(err error) { c.shown(o, receipt, err) }
	return r, nil
}

// shown records that a message was read, if its bytes are out.
func (c *call) shown(o *mailbox.Opened, receipt *mail.Receipt, err error) {
	if err == nil {
		err = c.desk.Shown(o, *receipt)
	}
	if err != nil {
		c.log.Warn("the message stays unread", "id", o.ID, "error", err)
	}
}

// handOver is how long the mailbox stays locked for a message that is on its
// way to the client; other calls wait a little longer than that for the lock.
const handOver = 3 * time.Second

// readNext shows the oldest unread message. The mailbox is locked until its
// bytes are out, so that nobody else gets the same one (design §8).
func (c *call) readNext(part int) (*reply, error) {
	c.pass(c.ctx, c.desk)
	ready, over := make(chan *reply, 1), make(chan struct{})
	var failure error
	go func() {
		defer close(over)
		o, err := c.desk.Next(func(o *mailbox.Opened) (*mail.Receipt, error) {
			r, receipt, err := c.show(o, part)
			if err != nil || receipt == nil {
				ready <- r
				return nil, err
			}
			return c.handOver(r, o, receipt, ready, over), nil
		})
		if failure = err; o == nil && err == nil {
			ready <- &reply{text: "no unread mail", data: noteView{"no unread mail"}}
		}
	}()
	select {
	case r := <-ready:
		if r != nil {
			return r, nil
		}
		<-over
	case <-over:
		select {
		case r := <-ready: // it was ready before it was over
			if r != nil {
				return r, nil
			}
		default:
		}
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
	return nil, failure
}

// handOver gives a reply to the transport and returns the receipt if its bytes
// went out in time. If they go out later, the receipt follows then.
func (c *call) handOver(r *reply, o *mailbox.Opened, receipt *mail.Receipt, ready chan<- *reply, over <-chan struct{}) *mail.Receipt {
	out, late := make(chan error, 1), make(chan struct{})
	r.sent = func(err error) {
		out <- err
		<-over // the receipt is written by now, or will not be
		select {
		case <-late:
			c.shown(o, receipt, err)
		default:
		}
	}
	ready <- r
	limit, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), handOver)
	defer cancel()
	select {
	case err := <-out:
		if err != nil {
			c.log.Warn("the message stays unread", "id", o.ID, "error", err)
			return nil
		}
		return receipt
	case <-limit.Done():
		close(late)
		return nil
	}
}

// show renders a message, or a part of it, with the receipt that is due when
// the bytes are out; nil if parts are left, or nobody's.
func (c *call) show(o *mailbox.Opened, part int) (*reply, *mail.Receipt, error) {
	parts := mail.Parts(mail.Neutralise(o.Body, true), partSize)
	if part > len(parts) {
		return nil, nil, argumentError(c.tool, "part", "cannot be "+strconv.Itoa(part), "it has "+strconv.Itoa(len(parts)))
	}
	text := parts[part-1]
	if part == 1 {
		text = "Subject: " + mail.Neutralise(o.Subject, false) + "\n\n" + text
	}
	l := letter{ID: o.ID, From: o.From, To: o.To, CC: o.CC, Act: o.Act, Obliges: o.Item.Obliges, Text: fence(o.From, text), Part: part,
		Parts: len(parts), Conversation: o.Conversation, InReplyTo: o.InReplyTo, CreatedAt: o.CreatedAt}
	if !o.Deadline.IsZero() {
		l.Deadline = &o.Deadline
	}
	l.Note = l.note(o)
	r := &reply{text: l.head() + l.Text + l.Note, data: l}
	if part < len(parts) || o.Mine {
		return r, nil, nil
	}
	receipt := &mail.Receipt{Event: mail.EventRead, ID: o.ID, Evidence: "mcp read_mail, the client took it"}
	if len(parts) > 1 {
		receipt.Part, receipt.Parts = part, len(parts)
	}
	return r, receipt, nil
}

// noteView is a structured result that has nothing but a note.
type noteView struct {
	Note string `json:"note"`
}

// head is our own words and validated fields.
func (l letter) head() string {
	var b strings.Builder
	to := mail.Neutralise(strings.Join(append([]string{l.To}, l.CC...), ", cc "), false)
	fmt.Fprintf(&b, "id       %s\nfrom     %s, to %s, %s\nact      %s", l.ID, mail.Neutralise(l.From, false), to, cli.When(l.CreatedAt), l.Act)
	if l.Obliges {
		b.WriteString(", which obliges you to answer")
	}
	if l.Deadline != nil {
		b.WriteString(", due " + cli.When(*l.Deadline))
	}
	b.WriteByte('\n')
	if l.InReplyTo != "" {
		fmt.Fprintf(&b, "answers  %s\n", l.InReplyTo)
	}
	return b.String()
}

// note says what to do next, and what else is wrong.
func (l letter) note(o *mailbox.Opened) string {
	var b strings.Builder
	switch {
	case l.Part < l.Parts:
		fmt.Fprintf(&b, "part %d of %d; next: read_mail with id %s and part %d\n", l.Part, l.Parts, l.ID.Short(), l.Part+1)
	case l.Parts > 1:
		fmt.Fprintf(&b, "part %d of %d, the last\n", l.Part, l.Parts)
	}
	for _, id := range o.Damaged {
		fmt.Fprintf(&b, "%s before this one was changed after its delivery: trace_mail tells more\n", id)
	}
	switch {
	case l.Part < l.Parts || o.Mine:
	case l.Obliges:
		fmt.Fprintf(&b, "next: reply_mail with id %s and act done, agree, refuse or inform; then mark_done\n", l.ID.Short())
	default:
		fmt.Fprintf(&b, "next: mark_done %s\n", l.ID.Short())
	}
	return b.String()
}

// fence puts somebody's words between marks that nobody can foresee.
func fence(from, body string) string {
	var nonce [8]byte
	rand.Read(nonce[:]) // never fails (crypto/rand)
	return mail.Fence(hex.EncodeToString(nonce[:]), from, body)
}
