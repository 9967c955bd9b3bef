package office

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// Fate is where a stamped message stands, read from the disk and from nothing
// else, so that whatever is reported is there (design §6).
type Fate struct {
	Outbox   bool // not retired yet
	Failed   bool // in .failed
	Reason   string
	Reached  []policy.Agent // in their inbox, or handled
	Missing  []policy.Agent // resolved recipients that do not have it
	Handled  bool           // some recipient moved it to .done
	Approval string         // put before a person under this id
	Decided  bool           // and decided
	Copied   bool           // the office has its copy
}

// Delivered reports whether everybody it is for has it, or a person was asked.
func (f Fate) Delivered() bool {
	return !f.Failed && len(f.Missing) == 0 && (len(f.Reached) > 0 || f.Approval != "")
}

// Lost reports whether the message is nowhere: it was never stored whole.
func (f Fate) Lost() bool { return !f.Outbox && !f.Failed && !f.Copied && len(f.Reached) == 0 }

// Fate looks for a message of author's. Inboxes in which it is found are synced
// first, so that "it is there" survives a crash.
func (o *Office) Fate(reg *registry.Registry, author Author, m *mail.Message, batch *spool.Batch) (Fate, error) {
	var f Fate
	name := spool.FileName(m.ID)
	for _, look := range []struct {
		fs   spool.Box
		path string
		to   *bool
	}{
		{author.Box, author.Box.Path(spool.Outbox, name), &f.Outbox},
		{author.Box, author.Box.Path(spool.Failed, name), &f.Failed},
		{spool.Box{FS: o.FS}, MessagePath(m.ID), &f.Copied},
	} {
		_, err := look.fs.FS.Lstat(look.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		*look.to = err == nil
	}
	if err := o.reached(reg, m, batch, &f); err != nil {
		return f, err
	}
	return f, o.asked(m, &f)
}

func (o *Office) reached(reg *registry.Registry, m *mail.Message, batch *spool.Batch, f *Fate) error {
	if m.Envelope == nil {
		return nil
	}
	for _, aid := range append(append([]string{}, m.Envelope.Recipients...), m.Envelope.CC...) {
		a, known := reg.ByAID(aid)
		if !known {
			continue
		}
		e, ok := reg.EntryByAID(aid)
		if !ok { // unreadable for now
			f.Missing = append(f.Missing, a)
			continue
		}
		state := spool.Absent
		if box, err := o.Box(e); err == nil {
			if state, err = box.Where(m.ID); err != nil {
				state = spool.Absent
			}
			if state == spool.Waiting {
				batch.Dir(box.FS, box.Path(spool.Inbox))
			}
		}
		switch state {
		case spool.Absent:
			f.Missing = append(f.Missing, a)
		case spool.Handled:
			f.Handled = f.Handled || !a.Far() // the link has it in .done once it has arrived, or was refused
			fallthrough
		default:
			f.Reached = append(f.Reached, a)
		}
	}
	return batch.Flush()
}

func (o *Office) asked(m *mail.Message, f *Fate) error {
	for _, kind := range []policy.AskKind{policy.Question, policy.Notice, policy.Release} {
		if m.To != Human && !m.NeedsHuman && kind != policy.Release {
			continue
		}
		id := approval.IDFor(kind, m.ID, "")
		_, d, err := approval.Get(o.FS, id)
		if mail.KindOf(err) == mail.KindNotFound {
			continue
		}
		if err != nil {
			return err
		}
		f.Approval, f.Decided = id, d != nil
		if kind == policy.Release && len(f.Reached) == 0 {
			f.Missing = nil // held: it is before a person instead
		}
	}
	return nil
}
