// Package mailbox is the one front door: what an agent, or a person as human,
// does with mail (design §6, §8). It writes to the caller's own mailbox only;
// a router, which it never calls, moves the mail from there.
//
// Invariants. Nothing is stored that the rules refuse. What Send returns
// without an error is in the outbox, durably. A receipt is written after the
// caller says that the bytes are out, never before. Two processes of one agent
// never get the same message from Next.
package mailbox

import (
	"cmp"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
)

// patience is Mailbox.Patience if nobody says otherwise.
const patience = 5 * time.Second

// driftLimit is how far in the future an id may lie and still move the clock.
const driftLimit = 24 * time.Hour

// Mailbox is one correspondent's view of an office.
type Mailbox struct {
	Office   *office.Office
	Registry *registry.Registry
	Author   office.Author
	Entry    registry.Entry // zero for human
	// Patience is how long a call waits for another process of the same agent;
	// 0 is as long as a person would.
	Patience time.Duration
}

// Open opens the mailbox of an agent, or of human.
func Open(o *office.Office, name string) (*Mailbox, error) {
	reg, err := o.Book()
	if err != nil {
		return nil, err
	}
	if name == office.Human {
		return &Mailbox{Office: o, Registry: reg, Author: o.SystemAuthor(name)}, nil
	}
	e, ok, err := office.Entry(reg, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &mail.Error{Op: "open mailbox", Kind: mail.KindUnknown, Addr: name,
			Err: errors.New("nobody here has that name"), Hint: `see "post agents", or run "post join ` + name + `"`}
	}
	a, err := o.Author(e)
	if err != nil {
		return nil, err
	}
	return &Mailbox{Office: o, Registry: reg, Author: a, Entry: e}, nil
}

// now is the office's clock.
func (m *Mailbox) now() time.Time { return m.Office.Sys.Now().UTC() }

// lock takes the mailbox lock, if the office may be written: the registry of a
// copy still names the mailboxes of the original.
func (m *Mailbox) lock() (func(), error) {
	if err := m.Office.CheckWritable(); err != nil {
		return nil, err
	}
	unlock, err := m.Author.Box.Lock(cmp.Or(m.Patience, patience))
	if err == nil {
		return unlock, nil
	}
	if mail.KindOf(err) == mail.KindBusy {
		return nil, err
	}
	return nil, &mail.Error{Op: "lock mailbox", Kind: mail.KindStore, Addr: m.Author.Name, Err: err,
		Hint: `check that you may write there; "post doctor" helps`}
}
