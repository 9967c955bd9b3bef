package mailbox

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
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
	if err := m.Office.CheckWritable(); err != nil {
		return nil, err
	}
	msgs, worlds, err := m.prepare(d)
	if err != nil {
		return nil, err
	}
	unlock, err := m.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := &sender{Mailbox: m, draft: d, now: m.now()}
	var out []Sent
	for i, msg := range msgs {
		sent := s.store(i, msg, worlds[i])
		if sent.Msg != nil && i == 0 && len(msgs) > 1 {
			for _, later := range msgs[1:] {
				later.Conversation = sent.Msg.Conversation
			}
		}
		out = append(out, sent)
	}
	return out, nil
}

// prepare builds a message per recipient and asks the rules about each, before
// any is stored: one unknown name refuses all.
func (m *Mailbox) prepare(d Draft) ([]*mail.Message, []policy.World, error) {
	if len(d.To) == 0 {
		return nil, nil, &mail.Error{Op: "send", Kind: mail.KindUsage, Err: errors.New("there is no recipient"), Hint: "name one: post send coder …"}
	}
	if err := checkDraft(&d, m.now()); err != nil {
		return nil, nil, err
	}
	var msgs []*mail.Message
	var worlds []policy.World
	for _, to := range d.To {
		msg := &mail.Message{From: m.Author.Name, To: to, CC: d.CC, Act: d.Act, Subject: d.Subject, Body: d.Body,
			Conversation: d.Conversation, InReplyTo: d.InReplyTo, NeedsHuman: d.NeedsHuman, DeadlineText: d.Deadline}
		if d.Key != "" || d.Again {
			msg.Envelope = &mail.Envelope{Key: d.Key, Again: d.Again}
		}
		w, err := m.Office.World(m.Registry, m.Author, msg, nil)
		if err != nil {
			return nil, nil, err
		}
		if b, refused := office.Refusal(policy.Plan(msg, w, m.now())); refused {
			return nil, nil, office.RefusalError(b, to)
		}
		msgs, worlds = append(msgs, msg), append(worlds, w)
	}
	return msgs, worlds, nil
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

// sender stores the messages of one draft, under the mailbox lock.
type sender struct {
	*Mailbox
	draft Draft
	now   time.Time
}

func (s *sender) store(i int, msg *mail.Message, w policy.World) Sent {
	out := Sent{To: msg.To}
	keys := s.keyNames(i, msg)
	if !s.draft.Again {
		first, err := s.earlier(keys, msg)
		if first != nil || err != nil {
			out.Msg, out.Duplicate, out.Err = first, first != nil, err
			return out
		}
	}
	clock := s.Author.Box.OpenClock()
	if msg.InReplyTo != "" {
		clock.Observe(msg.InReplyTo, s.now, driftLimit)
	}
	for {
		id := clock.Next(s.now, s.Author.Tag())
		stamped, bounce := s.Office.Stamp(msg, s.Author, id, w, s.now)
		if bounce != nil {
			out.Err = office.RefusalError(*bounce, msg.To)
			return out
		}
		err := s.put(stamped, keys)
		if errors.Is(err, fs.ErrExist) {
			continue // the clock was lost: the id is taken, the next one is not
		}
		if err == nil {
			clock.Save() // losing it costs a try like the one above
		}
		out.Msg, out.Err = stamped, err
		return out
	}
}

// put stores a stamped message together with its keys.
func (s *sender) put(msg *mail.Message, keys []spool.Key) error {
	data, err := msg.Encode()
	if err != nil {
		return err
	}
	if len(data) > mail.MaxSize {
		return &mail.Error{Op: "send", Kind: mail.KindTooLarge, Addr: msg.To, Err: errors.New("the message is over 1 MiB"),
			Hint: "put the text in a file and send its path"}
	}
	s.prune()
	err = s.Author.Box.Store(msg.ID, data, keys, s.Office.Sys.Batch())
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return &mail.Error{Op: "store", Kind: mail.KindStore, Addr: "outbox of " + s.Author.Name, Err: err,
		Hint: "free some space or mend the permissions, then send it again"}
}
