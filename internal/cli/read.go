package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
)

func readCommand() Command {
	return Command{
		Name: "read", Summary: "show a message, and record it as read", Usage: "ID|next|last [--part N]",
		Long: `next is the oldest unread message; with none it exits 6. Two processes of one
agent never get the same one. last is the newest message that you received.

Off a terminal the text stands between marks that nobody else can know, and a
long one comes in parts of 16 KB at most: it counts as read when the last part
was printed. Programs that want all of it say --part all.`,
		Examples: []string{"post read next", "post read 4f0c11d2 --part 2"},
		Setup: func(fs *flag.FlagSet) Run {
			var x reader
			fs.StringVar(&x.part, "part", "", "the part `N` of a long text, or all")
			return x.run
		},
	}
}

type reader struct {
	part string
	nth  int // from 1; 0: all of it
}

// partSize leaves room in 16 KB for what stands round a text, in bytes.
const partSize = mail.PartSize - 1<<10

func (x *reader) run(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, 1); err != nil {
		return err
	}
	if err := x.choose(e); err != nil {
		return err
	}
	d, err := e.openDesk()
	if err != nil {
		return err
	}
	if args[0] == "next" {
		return x.next(d)
	}
	id, err := d.Find(args[0])
	if err != nil {
		return err
	}
	o, err := d.Open(id)
	if err != nil {
		return err
	}
	r, err := x.show(d, o)
	if err != nil || r == nil {
		return err
	}
	return d.Shown(o, *r)
}

// choose says which part is wanted. A person at a terminal gets all of it.
func (x *reader) choose(e *Env) error {
	switch x.part {
	case "":
		if x.nth = 1; e.StdoutTTY {
			x.nth = 0
		}
		return nil
	case "all":
		x.nth = 0
		return nil
	}
	n, err := strconv.Atoi(x.part)
	if err != nil || n < 1 {
		return usageError(e.name, "--part cannot be "+quote(x.part), "give a number from 1, or all")
	}
	x.nth = n
	return nil
}

func (x *reader) next(d *desk) error {
	o, err := d.Next(func(o *mailbox.Opened) (*mail.Receipt, error) { return x.show(d, o) })
	if err != nil || o != nil {
		return err
	}
	d.e.Out.Say("no unread mail")
	return Said(mail.ExitNothingCame)
}

// show prints a message, or a part of it, and returns the receipt that is due
// now that the bytes are out; nil if parts are left, or nobody's.
func (x *reader) show(d *desk, o *mailbox.Opened) (*mail.Receipt, error) {
	e := d.e
	parts := []string{Text(o.Body)}
	if x.nth > 0 {
		parts = mail.Parts(parts[0], partSize)
	}
	nth := max(x.nth, 1)
	if nth > len(parts) {
		return nil, usageError(e.name, "there is no part "+itoa(nth), "it has "+itoa(len(parts)))
	}
	if e.JSON {
		e.Out.Object(viewMessage(o, parts[nth-1], nth, len(parts)))
	} else {
		printMessage(e, o, parts[nth-1], nth, len(parts))
	}
	if err := e.taken(); err != nil {
		return nil, err
	}
	if nth < len(parts) || o.Mine {
		return nil, nil
	}
	r := &mail.Receipt{Event: mail.EventRead, ID: o.ID, Evidence: "post read, standard output"}
	if len(parts) > 1 {
		r.Part, r.Parts = nth, len(parts)
	}
	return r, nil
}

// letterView is a message as `post read --json` prints it (docs/json.md).
type letterView struct {
	ID           mail.ID    `json:"id"`
	From         string     `json:"from"`
	To           string     `json:"to"`
	CC           []string   `json:"cc,omitempty"`
	Act          mail.Act   `json:"act"`
	Subject      string     `json:"subject"`
	Body         string     `json:"body"`
	Part         int        `json:"part"`
	Parts        int        `json:"parts"`
	Conversation string     `json:"conversation"`
	InReplyTo    mail.ID    `json:"in_reply_to,omitempty"`
	Hops         int        `json:"hops"`
	As           string     `json:"as,omitempty"` // how it was received; not of one's own
	Obliges      bool       `json:"obliges"`
	NeedsHuman   bool       `json:"needs_human,omitempty"`
	Deadline     *time.Time `json:"deadline,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
}

func viewMessage(o *mailbox.Opened, body string, part, parts int) letterView {
	v := letterView{ID: o.ID, From: o.From, To: o.To, CC: o.CC, Act: o.Act, Subject: o.Subject, Body: body, Part: part, Parts: parts,
		Conversation: o.Conversation, InReplyTo: o.InReplyTo, Hops: o.Hops, As: o.Item.As, Obliges: o.Item.Obliges,
		NeedsHuman: o.NeedsHuman, CreatedAt: o.CreatedAt}
	if !o.Deadline.IsZero() {
		v.Deadline = &o.Deadline
	}
	return v
}

// printMessage prints our own words and validated fields first, and what the
// author chose inside the fence, unless a person reads it at a terminal.
func printMessage(e *Env, o *mailbox.Opened, body string, part, parts int) {
	printHead(e, o)
	if e.StdoutTTY {
		e.Out.Printf("subject  %s\n\n%s\n", e.Out.Bold(Line(o.Subject)), strings.TrimRight(body, "\n"))
	} else {
		if part == 1 && !opens(body, o.Subject) {
			body = "Subject: " + Line(o.Subject) + "\n\n" + body
		}
		e.fence(o.From, body)
	}
	switch {
	case part < parts:
		e.Out.Printf("part %d of %d: post read %s --part %d\n", part, parts, short(o.ID), part+1)
	case parts > 1:
		e.Out.Printf("part %d of %d, the last\n", part, parts)
	}
	if part == parts && !o.Mine {
		if o.Item.Obliges {
			e.Out.Say("next: post reply %s --act done|agree|refuse|inform; post done %s", short(o.ID), short(o.ID))
		} else {
			e.Out.Say("next: post done %s", short(o.ID))
		}
	}
}

// opens reports whether a text begins with its subject, as it does where the
// author gave none.
func opens(body, subject string) bool {
	return strings.HasPrefix(strings.TrimSpace(body), strings.TrimSuffix(Line(subject), "…"))
}

func printHead(e *Env, o *mailbox.Opened) {
	to := Line(o.To)
	if len(o.CC) > 0 {
		to += ", cc " + Line(strings.Join(o.CC, ","))
	}
	act := string(o.Act)
	if o.Item.Obliges {
		act += ", which obliges you to answer"
	}
	if !o.Deadline.IsZero() {
		act += ", due " + when(o.Deadline)
	}
	e.Out.Printf("id       %s\nfrom     %s, to %s, %s\nact      %s\n", o.ID, Line(o.From), to, when(o.CreatedAt), act)
	if o.InReplyTo != "" {
		e.Out.Printf("answers  %s\n", o.InReplyTo)
	}
}

// when shows a time.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// fence prints somebody's words between marks that nobody can foresee.
func (e *Env) fence(from, body string) {
	var nonce [8]byte
	rand.Read(nonce[:]) // never fails (crypto/rand)
	e.Out.Printf("%s", mail.Fence(hex.EncodeToString(nonce[:]), from, body))
}
