package top

import (
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/standing"
)

// Floor is the office as it stands at one moment.
type Floor struct {
	At      time.Time
	Agents  []standing.Agent    // by name, the archived left out
	Waiting []approval.Approval // oldest first
	Moves   []Move              // newest first
	Debts   []mailbox.Owed      // the earliest due first
	Last    uint64              // number of the last record of the journal that is in it
	Faults  []string            // what could not be seen
}

// Move is something that happened to a message.
type Move struct {
	At       time.Time
	N        uint64 // of its record in the journal
	Event    string
	ID       mail.ID
	From     string
	To       []string // one event for each, side by side
	Act      string
	Subject  string
	Approval string
	Why      string // it bounced
}

// Overdue are the debts whose time is over.
func (f *Floor) Overdue() []mailbox.Owed {
	for i, o := range f.Debts {
		if o.Late <= 0 {
			return f.Debts[:i]
		}
	}
	return f.Debts
}
