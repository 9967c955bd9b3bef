package office

import (
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
)

// Stamp completes an authored message: everything that an author may not say
// is set here, and the recipients that the rules resolved are frozen
// (design §4).
func (o *Office) Stamp(m *mail.Message, a Author, id mail.ID, w policy.World, actions []policy.Action, now time.Time) {
	m.Schema, m.ID, m.From = mail.Schema, id, a.Name
	m.Conversation = Conversation(m, w)
	if m.Conversation == "" {
		m.Conversation = mail.NewConversation(id)
	}
	m.Hops = policy.Hops(w.Parent)
	m.RequiresReply = policy.RequiresReply(m, w)
	m.CreatedAt = now.UTC().Truncate(time.Millisecond)
	m.Office, m.SentWith = o.Config.ID, o.Sys.Version
	if m.Envelope == nil {
		m.Envelope = &mail.Envelope{}
	}
	m.Envelope.Recipients, m.Envelope.CC = []string{}, nil
	for _, act := range actions {
		d, ok := act.(policy.Deliver)
		switch {
		case !ok:
		case d.As == policy.AsCC:
			m.Envelope.CC = append(m.Envelope.CC, d.To.AID)
		default:
			m.Envelope.Recipients = append(m.Envelope.Recipients, d.To.AID)
		}
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
