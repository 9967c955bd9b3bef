package mailbox

import (
	"errors"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
)

// parcel is one message of a draft on its way into the outbox.
type parcel struct {
	draft *Draft
	msg   *mail.Message
	world policy.World
	nth   int             // which of the draft's messages
	of    []*mail.Message // all of them, in one conversation
	sent  *Sent

	keys   []spool.Key
	letter *spool.Letter // nil: nothing to store
	tries  int
}

// maxTries bounds how many ids that are taken a message meets.
const maxTries = 64

// sender stores messages under the mailbox lock.
type sender struct {
	*Mailbox
	now    time.Time
	clock  *spool.Clock
	stored []office.Stored
	unsure bool // something may be in the outbox and not durable
}

// post stamps what was not sent before and stores it. Ids that turn out to be
// taken, because the clock was lost, are replaced by the next ones.
func (s *sender) post(unsent []*parcel) {
	s.clock = s.Author.Box.OpenClock()
	for len(unsent) > 0 {
		group, later := apart(unsent)
		taken := s.storeGroup(group)
		unsent = append(taken, later...)
	}
	s.Office.NoteStored(s.Author.Tag(), s.stored)
	if !s.unsure {
		s.clock.Save() // losing it costs a try like the one above
	}
	s.prune()
}

// apart takes the first parcels of which no two are the same message: the
// second must find the first in the outbox.
func apart(unsent []*parcel) (group, later []*parcel) {
	seen := map[string]bool{}
	for i, p := range unsent {
		p.keys = keyNames(p)
		for _, k := range p.keys {
			if seen[k.Name] {
				return unsent[:i], unsent[i:]
			}
		}
		for _, k := range p.keys {
			seen[k.Name] = true
		}
	}
	return unsent, nil
}

// storeGroup stores parcels together and returns those whose id was taken.
func (s *sender) storeGroup(group []*parcel) (taken []*parcel) {
	var letters []*spool.Letter
	for _, p := range group {
		p.letter = nil
		if s.pack(p); p.letter != nil {
			letters = append(letters, p.letter)
		}
	}
	s.Author.Box.StoreAll(letters, s.Office.Sys.Batch())
	for _, p := range group {
		switch {
		case p.letter == nil:
		case errors.Is(p.letter.Err, fs.ErrExist) && p.tries < maxTries:
			p.tries++
			taken = append(taken, p)
		case p.letter.Err != nil:
			s.unsure = true
			if p.sent.Err = s.unstored(p.sent.Msg, p.letter.Err); p.sent.Err != nil {
				p.sent.Msg = nil
			}
		default:
			s.stored = append(s.stored, office.Stored{Draft: p.letter.Draft(), Msg: p.sent.Msg})
		}
	}
	return taken
}

// pack stamps a parcel and makes its letter, unless it was sent before or
// cannot be stored; then it says so.
func (s *sender) pack(p *parcel) {
	msg := p.msg
	if !p.draft.Again {
		first, err := s.earlier(p)
		if first != nil || err != nil {
			p.sent.Msg, p.sent.Duplicate, p.sent.Err = first, first != nil, err
			s.join(p)
			return
		}
	}
	if msg.InReplyTo != "" {
		s.clock.Observe(msg.InReplyTo, s.now, driftLimit)
	}
	stamped, bounce := s.Office.Stamp(msg, s.Author, s.clock.Next(s.now, s.Author.Tag()), p.world, s.now)
	if bounce != nil {
		p.sent.Err = office.RefusalError(*bounce, msg.To)
		return
	}
	data, err := stamped.Encode()
	if err == nil && len(data) > mail.MaxSize {
		err = &mail.Error{Op: "send", Kind: mail.KindTooLarge, Addr: msg.To, Err: errors.New("the message is over 1 MiB"),
			Hint: "put the text in a file and send its path"}
	}
	if err != nil {
		p.sent.Err = err
		return
	}
	p.letter = &spool.Letter{ID: stamped.ID, Data: data, Keys: p.keys}
	p.sent.Msg = stamped
	s.join(p)
}

// join puts what follows in a draft into the conversation of its first message.
func (s *sender) join(p *parcel) {
	if p.nth > 0 || p.sent.Msg == nil {
		return
	}
	for _, later := range p.of[1:] {
		later.Conversation = p.sent.Msg.Conversation
	}
}

// unstored says what is true of a message that could not be made durable. A
// router that ran meanwhile may have delivered it before it was taken back:
// then it is sent.
func (s *sender) unstored(msg *mail.Message, cause error) error {
	// Whoever routes now may have read it before it was taken back.
	lease, busy := spool.AcquireLease(s.Office.FS, spool.Holder{PID: s.Office.Sys.PID, Host: s.Office.Sys.Host, Since: s.now, Version: s.Office.Sys.Version})
	if busy == nil {
		lease.Release()
	}
	if f, err := s.Office.Fate(s.Registry, s.Author, msg, s.Office.Sys.Batch()); err == nil && (f.Copied || len(f.Reached) > 0) {
		return nil
	}
	hint := "free some space or mend the permissions, then send it again"
	if busy != nil || errors.Is(cause, spool.ErrUnsure) {
		hint = "it may go out nevertheless; the same command again sends no second one. See post trace " + string(msg.ID)
	}
	return &mail.Error{Op: "store", Kind: mail.KindStore, Addr: "outbox of " + s.Author.Name, Err: cause, Hint: hint}
}
