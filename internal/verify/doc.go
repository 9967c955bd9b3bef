// Package verify proves that what an office keeps in several places says the
// same: journal, indexes, mailboxes, the office's own copies, transcripts and
// the senders' archives (design §3, §10, §14; spool-format.md §6–§9). Whatever
// does not agree is named: the first thing, and on request all of it.
//
// Invariants. It writes nothing and takes no lock, so it may run while mail
// moves: what a routing pass has under way is told from what is wrong by
// looking again, at the outboxes first and then at the end of the journal. It
// holds about a hundred bytes a message, whatever messages are long.
//
// The journal is what everything is compared with. That the journal itself was
// not rewritten as a whole can be shown only against a head kept elsewhere.
package verify

import (
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
)

// Check is one of the things that are compared.
type Check string

// The checks, in the order in which they run.
const (
	Chain      Check = "journal"    // the records follow one another
	Index      Check = "index"      // a mailbox's index has each delivery, once, in order
	Copy       Check = "copy"       // the office's own copy is what was delivered
	Mailbox    Check = "mailbox"    // the delivered file is in inbox/ or .done, unchanged
	Transcript Check = "transcript" // the sections are those that were announced
	Sent       Check = "sent"       // the sender's archive is what was delivered
)

// Finding is one thing that does not agree with the journal.
type Finding struct {
	Check  Check   `json:"check"`
	Where  string  `json:"where"` // the file
	Line   int     `json:"line,omitempty"`
	ID     mail.ID `json:"id,omitempty"`
	Agent  string  `json:"agent,omitempty"`
	Record uint64  `json:"record,omitempty"` // in the journal
	Text   string  `json:"text"`             // one sentence without a full stop
}

func (f Finding) String() string {
	where := f.Where
	if f.Line > 0 {
		where += fmt.Sprintf(" line %d", f.Line)
	}
	return string(f.Check) + ": " + where + ": " + f.Text
}

// Options say what to compare with and whom to tell.
type Options struct {
	Heads []journal.Head // that were kept elsewhere
	// Found is called with every finding, in order. It may be nil.
	Found func(Finding)
	// Progress is called now and then: what is being read, and how much of it
	// is done. It may be nil.
	Progress func(stage string, n int)
}

// Report sums up.
type Report struct {
	Head       journal.Head  `json:"head"`
	At         time.Time     `json:"head_at,omitzero"`
	Messages   int           `json:"messages"`
	Deliveries int           `json:"deliveries"`
	Sections   int           `json:"sections"`
	Explained  int           `json:"explained"` // files whose owner finished and removed them
	InFlight   int           `json:"in_flight"` // parts of a pass under way, or cut short and redone by the next
	First      *Finding      `json:"first,omitempty"`
	Counts     map[Check]int `json:"counts"`
}

// Found counts what does not agree.
func (r Report) Found() int {
	n := 0
	for _, c := range r.Counts {
		n += c
	}
	return n
}
