package verify

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// run is one verification.
type run struct {
	ctx      context.Context
	o        *office.Office
	opt      Options
	rep      Report
	book     *Book
	trails   *trails
	boxes    []*box
	byAID    map[string]*box
	suspects []suspect
	steps    int
}

// box is one mailbox while it is compared.
type box struct {
	office.Author
	entry   registry.Entry
	path    string // for people
	err     error  // it cannot be opened
	lost    bool   // no index is there: emptied, or gone
	missing int    // deliveries that are not there, in a lost mailbox
	unlined int    // deliveries without an index line, in a lost mailbox
	done    map[key]bool
}

// Run compares everything. The error is about reading only, or ctx's: what
// does not agree is in the Report.
func Run(ctx context.Context, o *office.Office, opt Options) (Report, error) {
	v := &run{ctx: ctx, o: o, opt: opt, byAID: map[string]*box{}, rep: Report{Counts: map[Check]int{}}}
	reg, err := o.Registry()
	if err != nil {
		return v.rep, err
	}
	v.open(reg)
	for _, step := range []func() error{v.journal, v.indexes, v.messages, v.mailboxes, v.transcripts, v.copies, v.sent, v.judge} {
		if err := step(); err != nil {
			return v.rep, err
		}
	}
	return v.rep, nil
}

func (v *run) open(reg *registry.Registry) {
	for _, e := range reg.Entries() {
		a, err := v.o.Author(e)
		b := &box{Author: a, entry: e, err: err, path: e.InboxPath}
		if err != nil {
			a.Agent.Name, a.Agent.AID = e.Name, e.AID
			b.Author, b.lost = a, true
		}
		v.boxes = append(v.boxes, b)
		v.byAID[e.AID] = b
	}
}

// found tells of one thing that does not agree.
func (v *run) found(f Finding) {
	v.rep.Counts[f.Check]++
	if v.rep.First == nil {
		first := f
		v.rep.First = &first
	}
	if v.opt.Found != nil {
		v.opt.Found(f)
	}
}

// step tells how far a stage is, and whether to stop.
func (v *run) step(stage string, n int) error {
	if v.steps++; v.steps%512 != 0 {
		return nil
	}
	if v.opt.Progress != nil {
		v.opt.Progress(stage, n)
	}
	return v.ctx.Err()
}

// journal reads the journal twice at once: for its chain, and for what it says.
func (v *run) journal() error {
	type chain struct {
		rep journal.Report
		err error
	}
	verified := make(chan chain, 1)
	go func() {
		rep, err := journal.Verify(v.o.FS, v.opt.Heads...)
		verified <- chain{rep, err}
	}()
	v.book, v.trails = &Book{}, newTrails(v)
	err := journal.Each(v.o.FS, time.Time{}, time.Time{}, func(r journal.Record) error {
		v.book.add(r)
		v.trails.add(r)
		return v.step("journal", int(r.N))
	})
	c := <-verified
	if c.err != nil {
		return c.err
	}
	if err != nil && mail.KindOf(err) != mail.KindCorrupt { // the chain names what cannot be read
		return err
	}
	v.rep.Head, v.rep.At = c.rep.Head, c.rep.Last
	if b := c.rep.Break; b != nil {
		v.found(Finding{Check: Chain, Where: journal.Dir + "/" + b.File, Line: b.Line, Record: b.N, Text: b.Text + " (" + string(b.Flaw) + ")"})
	}
	for _, f := range v.book.conflicts {
		v.found(f)
	}
	v.rep.Messages, v.rep.Deliveries = v.book.messages.len(), v.book.deliveries.len()
	return nil
}

// messages compares, in the order of the journal, each message's office copy
// and its deliveries.
func (v *run) messages() error {
	for i := range v.book.messages.len() {
		m := v.book.messages.at(i)
		if !m.known {
			continue
		}
		if err := v.step("messages", i); err != nil {
			return err
		}
		info, err := v.copyOf(m)
		if err != nil {
			return err
		}
		for d := range v.book.of(m) {
			if err := v.delivery(m, d, info); err != nil {
				return err
			}
		}
	}
	for _, b := range v.boxes {
		if b.missing > 0 {
			v.found(Finding{Check: Mailbox, Where: b.path, Agent: b.Name,
				Text: count(b.missing, "delivered message is", "delivered messages are") + " not there: the mailbox is gone or was emptied"})
		}
		if b.unlined > 0 {
			v.found(Finding{Check: Index, Where: b.indexPath(), Agent: b.Name,
				Text: "the index of " + b.Name + " is gone or empty; the journal has " + count(b.unlined, "line", "lines") + " of it"})
		}
	}
	return nil
}

// copyOf checks the office's copy and returns what it is, nil if it is not
// what was delivered.
func (v *run) copyOf(m *message) (fs.FileInfo, error) {
	id := m.key.id()
	data, info, err := spool.ReadMail(v.o.FS, office.MessagePath(id))
	what := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "the office's copy of " + string(id) + " is gone"
	case err != nil && errors.Is(err, fs.ErrPermission):
		return nil, err
	case err != nil:
		what = "the office's copy of " + string(id) + " cannot be read: " + err.Error()
	case mail.DigestOf(data) != digestText(m.digest):
		what = "the office's copy of " + string(id) + " is not what was delivered: it was changed"
	default:
		return info, nil
	}
	if uint64(m.n) > v.book.settled && errors.Is(err, fs.ErrNotExist) {
		v.rep.InFlight++
		return nil, nil
	}
	v.found(Finding{Check: Copy, Where: office.MessagePath(id), ID: id, Record: uint64(m.n), Text: what})
	return nil, nil
}

// delivery checks one recipient's file and index line.
func (v *run) delivery(m *message, d *delivery, copied fs.FileInfo) error {
	aid, id := v.book.aids[d.aid], m.key.id()
	b, ok := v.byAID[aid]
	if !ok {
		v.found(Finding{Check: Mailbox, Where: registry.File, ID: id, Agent: aid, Record: uint64(d.n),
			Text: string(id) + " was delivered to " + mail.Neutralise(aid, false) + ", who is not in the registry"})
		return nil
	}
	there := false
	if b.err == nil {
		var err error
		if there, err = v.file(b, m, d, copied); err != nil {
			return err
		}
	}
	switch {
	case there:
	case d.done || b.finished(m.key):
		v.rep.Explained++
	case b.lost:
		b.missing++
	case uint64(d.n) > v.book.settled:
		v.rep.InFlight++
	default:
		v.found(Finding{Check: Mailbox, Where: b.path, ID: id, Agent: b.Name, Record: uint64(d.n),
			Text: string(id) + " was delivered to " + b.Name + " and is neither in inbox nor in .done"})
	}
	switch {
	case d.indexed:
		return nil
	case b.lost:
		b.unlined++
		return nil
	}
	if uint64(d.n) > v.book.settled {
		v.rep.InFlight++
		return nil
	}
	v.found(Finding{Check: Index, Where: b.indexPath(), ID: id, Agent: b.Name, Record: uint64(d.n),
		Text: "the index of " + b.Name + " has no line for " + string(id)})
	return nil
}

// file reports whether the delivered file is there, and complains if it is
// another one. A file that is the office's copy itself was read already.
func (v *run) file(b *box, m *message, d *delivery, copied fs.FileInfo) (bool, error) {
	name := spool.FileName(m.key.id())
	for _, dir := range []string{spool.Done, spool.Inbox, spool.Done} { // its owner may be moving it
		path := b.Box.Path(dir, name)
		info, err := b.Box.FS.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if copied != nil && sameFile(info, copied) {
			return true, nil
		}
		data, _, err := spool.ReadMail(b.Box.FS, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && mail.DigestOf(data) == digestText(m.digest) {
			return true, nil
		}
		v.found(Finding{Check: Mailbox, Where: b.Box.FS.Path(path), ID: m.key.id(), Agent: b.Name, Record: uint64(d.n),
			Text: string(m.key.id()) + " in the mailbox of " + b.Name + " is not what was delivered: it was changed"})
		return true, nil
	}
	return false, nil
}
