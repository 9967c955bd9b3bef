package mailbox

import (
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
)

// once is office.Recent for drafts that are judged together: what is the same
// for all of them is read once.
type once struct {
	office *office.Office
	seen   map[string][]policy.Seen
	fuses  *bool
}

// Message finds nothing: none of the drafts is a message yet.
func (c *once) Message(mail.ID) *mail.Message { return nil }

// Received reads what an agent got lately.
func (c *once) Received(aid string, read func() ([]policy.Seen, error)) ([]policy.Seen, error) {
	if seen, ok := c.seen[aid]; ok {
		return seen, nil
	}
	seen, err := read()
	if err == nil {
		c.seen = map[string][]policy.Seen{aid: seen}
	}
	return seen, err
}

// Fuses reports whether there is any fuse on record.
func (c *once) Fuses() bool {
	if c.fuses == nil {
		some := c.office.SomeFuse()
		c.fuses = &some
	}
	return *c.fuses
}
