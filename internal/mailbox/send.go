package mailbox

import (
	"errors"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
)

// Draft is what an author supplies (design §4). To holds one address or more:
// each gets a message of its own, in one conversation.
type Draft struct {
	To, CC       []string
	Act          mail.Act
	Subject      string // taken from the body's first line if empty
	Body         string
	Conversation string
	InReplyTo    mail.ID
	NeedsHuman   bool
	Deadline     string // a duration or an RFC 3339 time
	Key          string
	Again        bool
	// Options are what a person may choose from, for a question to one.
	Options []string
}

// Sent is one message of a draft: stored, found to be sent already, or not
// stored, with the reason.
type Sent struct {
	To  string
	Msg *mail.Message // as stamped; the first copy if Duplicate
	// Duplicate is set when the same thing was sent before, so that nothing was
	// stored now (design §6).
	Duplicate bool
	Err       error
}

// Send checks a draft against the rules and stores what passes in the outbox.
// An error means that nothing was stored; a store that failed half-way through
// several recipients is said in Sent.Err.
func (m *Mailbox) Send(d Draft) ([]Sent, error) {
	r := m.SendAll([]Draft{d})[0]
	return r.Sent, r.Err
}

// Posted is what became of one of several drafts; see Send.
type Posted struct {
	Sent []Sent
	Err  error
}

// SendAll is Send for several drafts, under one lock and with their syncs side
// by side. Each is judged on its own.
func (m *Mailbox) SendAll(drafts []Draft) []Posted {
	out := make([]Posted, len(drafts))
	err := m.Office.CheckWritable()
	var parcels []*parcel
	facts := &once{office: m.Office}
	for i := range drafts {
		d, p := drafts[i], &out[i]
		if p.Err = err; err != nil {
			continue
		}
		var msgs []*mail.Message
		var worlds []policy.World
		if msgs, worlds, p.Err = m.prepare(&d, facts); p.Err != nil {
			continue
		}
		p.Sent = make([]Sent, len(msgs))
		for k, msg := range msgs {
			p.Sent[k].To = msg.To
			parcels = append(parcels, &parcel{draft: &d, msg: msg, world: worlds[k], nth: k, of: msgs, sent: &p.Sent[k]})
		}
	}
	if len(parcels) == 0 {
		return out
	}
	unlock, err := m.lock()
	if err != nil {
		for i := range out {
			if out[i].Err == nil {
				out[i] = Posted{Err: err}
			}
		}
		return out
	}
	defer unlock()
	(&sender{Mailbox: m, now: m.now()}).post(parcels)
	return out
}

// prepare builds a message per recipient and asks the rules about each, before
// any is stored: one unknown name refuses all.
func (m *Mailbox) prepare(d *Draft, facts *once) ([]*mail.Message, []policy.World, error) {
	if len(d.To) == 0 {
		return nil, nil, &mail.Error{Op: "send", Kind: mail.KindUsage, Err: errors.New("there is no recipient"), Hint: "name one: post send coder …"}
	}
	if err := checkDraft(d, m.now()); err != nil {
		return nil, nil, err
	}
	var msgs []*mail.Message
	var worlds []policy.World
	for _, to := range d.To {
		msg := &mail.Message{From: m.Author.Name, To: m.Office.Canonical(m.Registry, to), CC: m.Office.CanonicalAll(m.Registry, d.CC), Act: d.Act, Subject: d.Subject, Body: d.Body,
			Conversation: d.Conversation, InReplyTo: d.InReplyTo, NeedsHuman: d.NeedsHuman, DeadlineText: d.Deadline}
		if d.Key != "" || d.Again {
			msg.Envelope = &mail.Envelope{Key: d.Key, Again: d.Again}
		}
		if err := msg.SetOptions(d.Options); err != nil {
			return nil, nil, err
		}
		w, err := m.Office.World(m.Registry, m.Author, msg, facts)
		if err != nil {
			return nil, nil, err
		}
		plan := policy.Plan(msg, w, m.now())
		if b, refused := office.Refusal(plan); refused {
			return nil, nil, office.RefusalError(b, to)
		}
		if told, only := onlyTold(plan); only {
			return nil, nil, &mail.Error{Op: "send", Kind: mail.KindRule, Addr: to, Err: errors.New(strings.TrimSuffix(told, ".")),
				Hint: "act on that answer, or ask something else"}
		}
		if len(d.Options) > 0 && !asks(plan) {
			return nil, nil, &mail.Error{Op: "send", Kind: mail.KindInvalid, Addr: "options", Err: errors.New("only a person chooses from options, and only in answer to a question"),
				Hint: "send it to human as a query or request, or with --needs-human"}
		}
		msgs, worlds = append(msgs, msg), append(worlds, w)
	}
	return msgs, worlds, nil
}

// asks reports whether a plan puts a question before a person, now, when it is
// released, or at another station.
func asks(plan []policy.Action) bool {
	for _, a := range plan {
		switch a := a.(type) {
		case policy.Ask:
			if a.Kind != policy.Notice {
				return true
			}
		case policy.Deliver:
			if name, station := mail.SplitStation(a.To.Name); station != "" && name == mail.NameHuman && a.Obliges {
				return true
			}
		}
	}
	return false
}

// onlyTold reports whether all that a plan does is to tell the author
// something, as where a person refused the same question already.
func onlyTold(plan []policy.Action) (text string, only bool) {
	for _, a := range plan {
		switch a := a.(type) {
		case policy.Tell:
			text = a.Text
		case policy.Transcript:
		default:
			return "", false
		}
	}
	return strings.Join(strings.Fields(text), " "), text != ""
}

func checkDraft(d *Draft, now time.Time) error {
	if d.Act == "" {
		d.Act = mail.Inform
	}
	if strings.TrimSpace(d.Body) == "" && strings.TrimSpace(d.Subject) == "" {
		return &mail.Error{Op: "send", Kind: mail.KindUsage, Err: errors.New("the message is empty"),
			Hint: "give the text on standard input, with -f FILE or with -m TEXT"}
	}
	if d.Subject == "" {
		d.Subject = firstLine(d.Body)
	}
	d.Subject = mail.CleanSubject(d.Subject)
	if d.Conversation != "" && !mail.ValidConversation(d.Conversation) {
		return &mail.Error{Op: "send", Kind: mail.KindInvalid, Addr: "--conversation", Err: errors.New("is no conversation id"),
			Hint: `copy one from "post inbox --json"`}
	}
	var err error
	if d.Options, err = mail.CheckOptions(d.Options); err != nil {
		return err
	}
	if d.Deadline != "" {
		if _, err := mail.ResolveDeadline(d.Deadline, now); err != nil {
			return err
		}
	}
	return nil
}

// firstLine is the subject of a message that has none.
func firstLine(body string) string {
	const limit = 72
	line, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	if r := []rune(line); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return line
}
