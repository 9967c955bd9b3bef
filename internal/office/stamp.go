package office

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// Stamp returns m complete: everything that an author may not say is set, and
// the recipients that the rules resolved are frozen (design §4). What the rules
// of addresses, acts and replies refuse gives the bounce instead.
func (o *Office) Stamp(m *mail.Message, a Author, id mail.ID, w policy.World, now time.Time) (*mail.Message, *policy.Bounce) {
	s, bounce := policy.Stamp(m, w)
	if bounce != nil {
		return nil, bounce
	}
	o.sign(s, a, id, now)
	return s, nil
}

// StampRefused completes a hand-written message that the rules refuse, so that
// it has an id to bounce under. It gets no recipients.
func (o *Office) StampRefused(m *mail.Message, a Author, id mail.ID, now time.Time) *mail.Message {
	s := *m
	if s.Envelope == nil {
		s.Envelope = &mail.Envelope{}
	}
	o.sign(&s, a, id, now)
	return &s
}

func (o *Office) sign(m *mail.Message, a Author, id mail.ID, now time.Time) {
	m.Schema, m.ID, m.From = mail.Schema, id, a.Name
	if m.Conversation == "" {
		m.Conversation = mail.NewConversation(id)
	}
	m.CreatedAt = now.UTC().Truncate(time.Millisecond)
	m.Office, m.Station, m.SentWith = o.Config.ID, o.Station(), o.Sys.Version
	if m.DeadlineText != "" {
		if t, err := mail.ResolveDeadline(m.DeadlineText, m.CreatedAt); err == nil {
			m.Deadline = t
		}
		m.DeadlineText = ""
	}
}

// Refusal returns the bounce of a message that the rules refuse as a whole.
func Refusal(actions []policy.Action) (policy.Bounce, bool) {
	for _, a := range actions {
		if b, ok := a.(policy.Bounce); ok && b.Recipient == "" {
			return b, true
		}
	}
	return policy.Bounce{}, false
}

// RefusalError is a bounce as the error that the front door returns.
func RefusalError(b policy.Bounce, to string) error {
	hint := b.Hint
	if len(b.Suggest) > 0 {
		hint = "did you mean " + b.Suggest[0] + "?"
	}
	return &mail.Error{Op: "send", Kind: b.Kind, Addr: to, Err: reason(b.Reason), Hint: hint}
}

type reason string

func (r reason) Error() string { return string(r) }
