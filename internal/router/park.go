package router

import (
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

// A sender's pass parks what trails: index line, office copy, journal records
// and section are written, so that everybody sees them, and not synced. The
// outbox entry, which is durable, stays where it is until a later pass makes
// what many have parked durable in one group and retires all of it. If the
// machine goes down before, the entry is delivered again as after any crash,
// which changes nothing but what the crash has taken (docs/crash-safety.md,
// docs/adr/0025).
//
// The parked record at the journal's end says what is parked, and in which boot
// of the machine: as long as that lasts nothing written is lost.

const (
	// parkMany is how many messages may be parked before a sender's pass settles
	// them.
	parkMany = 16
	// parkLong is how long the oldest may be.
	parkLong = 10 * time.Second
	// parkWide is how many recipients a message may have to be parked.
	parkWide = 8
)

// The details of a parked record. Names of transcripts and ids hold no slash.
const (
	parkedBoot  = "boot"
	parkedSince = "since"
	parkedIDs   = "ids"
	parkedHeld  = "announced"
	parkedSep   = "/"
)

// parked is what passes of this boot have written and not synced.
type parked struct {
	since time.Time
	names map[string]bool // of the files in their outboxes
	ids   []string
	// announced has the transcripts and the mailboxes (by aid) of which the
	// journal has a durable record in this group. Only where that is so a crash
	// can be told from a forgery, and what it tore be found: the first to write
	// there since the last settled record syncs the journal first.
	announced []string
}

func parkedOf(r journal.Record) *parked {
	k := &parked{names: map[string]bool{}, ids: strings.Split(r.Detail[parkedIDs], parkedSep), announced: strings.Split(r.Detail[parkedHeld], parkedSep)}
	k.since, _ = time.Parse(time.RFC3339Nano, r.Detail[parkedSince])
	for _, id := range k.ids {
		k.names[spool.FileName(mail.ID(id))] = true
	}
	return k
}

// Parked lists the messages that are delivered and recorded, and stay in their
// outboxes until a pass makes that durable. For who looks at outboxes.
func Parked(o *office.Office) map[mail.ID]bool {
	ids := map[mail.ID]bool{}
	boot, _, _ := o.Sys.Boot()
	if mark, ok := journal.LastParked(o.FS, boot); ok {
		for _, id := range parkedOf(mark).ids {
			ids[mail.ID(id)] = true
		}
	}
	return ids
}

func (k *parked) record(boot string, now time.Time) journal.Record {
	return journal.Record{At: now, Event: journal.Parked, Detail: map[string]string{
		parkedBoot: boot, parkedSince: k.since.Format(time.RFC3339Nano),
		parkedIDs: strings.Join(k.ids, parkedSep), parkedHeld: strings.Join(k.announced, parkedSep)}}
}

// resume takes over from the pass before: what it parked stays so, or is
// settled; what it left half-done is redone.
func (p *pass) resume() error {
	mark, after, ok := p.journal.Parked()
	if !ok || slices.ContainsFunc(after, redone) {
		return p.redo()
	}
	p.parked = parkedOf(mark)
	if age := p.now.Sub(p.parked.since); p.opt.Park && len(p.parked.ids) < parkMany && age >= 0 && age < parkLong {
		return nil
	}
	err := p.unpark()
	p.parked = nil
	p.batch.Leave()
	if err != nil { // redo knows whose trouble it is, and lets nobody else wait
		return p.redo()
	}
	return nil
}

// unpark makes durable what is parked and retires it, all of it together.
func (p *pass) unpark() error {
	defer vfs.Hold(p.o.FS)()
	pending, err := p.journal.Unsettled()
	if err != nil {
		return err
	}
	if err := p.syncParked(pending); err != nil {
		return err
	}
	var leave []func() error
	delivered, authors := map[mail.ID]journal.Record{}, map[string]office.Author{}
	for _, r := range pending {
		if r.Event == journal.Delivered {
			delivered[r.ID] = r
		}
	}
	for _, id := range p.parked.ids {
		if a, d, ok := p.parkedDraft(mail.ID(id), delivered, authors); ok {
			if err := a.Box.Retire(d); err != nil {
				continue // it takes the way of all mail, and its trouble is told there
			}
			p.batch.Dir(a.Box.FS, a.Box.Path(spool.Sent))
			leave = append(leave, func() error { return a.Box.Unlink(mail.ID(id)) })
		}
	}
	if err := p.batch.Flush(); err != nil {
		return err
	}
	for _, unlink := range leave {
		unlink() // what stays is known by its id, and goes another time
	}
	p.touched = true
	p.parked = nil
	return p.settle()
}

// syncParked asks for the sync of everything that the records name.
func (p *pass) syncParked(pending []journal.Record) error {
	boxes, files := map[string]bool{}, map[string]bool{}
	for _, r := range pending {
		if r.ID != "" && redone(r) {
			p.batch.Dir(p.o.FS, office.MessagesDir+"/"+r.ID.Month())
		}
		switch {
		case r.Event == journal.Delivered && !boxes[r.AID]:
			boxes[r.AID] = true
			if err := p.syncIndex(r.AID); err != nil {
				return err
			}
		case r.Event == journal.Transcript && (!files[r.File] || r.Offset == 0):
			files[r.File] = true
			in := transcript.Intent{File: r.File, Offset: r.Offset, Length: r.Length}
			p.batch.Do(func() error { return transcript.Sync(p.o.FS, in) })
		}
	}
	p.batch.Do(p.journal.Sync)
	return nil
}

func (p *pass) syncIndex(aid string) error {
	e, ok := p.reg.EntryByAID(aid)
	if !ok {
		return nil
	}
	box, err := p.o.Box(e)
	if err != nil {
		return err
	}
	f, err := box.OpenIndex()
	if err != nil {
		return err
	}
	p.batch.File(f)
	return nil
}

// parkedDraft finds a parked message in its author's outbox, if it is still the
// one that was delivered.
func (p *pass) parkedDraft(id mail.ID, delivered map[mail.ID]journal.Record, authors map[string]office.Author) (office.Author, spool.Draft, bool) {
	r, ok := delivered[id]
	if !ok {
		return office.Author{}, spool.Draft{}, false
	}
	author, known := authors[r.From]
	if !known {
		author = p.authorOf(r.From)
		authors[r.From] = author
	}
	if d, ok := p.sameAsCopy(author.Box, r); ok {
		return author, d, true
	}
	d, err := author.Box.Draft(spool.FileName(id))
	return author, d, err == nil && d.Err == nil && d.Digest == r.Digest
}

// sameAsCopy spares reading an outbox file that is a link to the office's copy
// and was not written to since it was delivered.
func (p *pass) sameAsCopy(b spool.Box, r journal.Record) (spool.Draft, bool) {
	d := spool.Draft{Dir: spool.Outbox, Name: spool.FileName(r.ID), Digest: r.Digest}
	if !b.Shared {
		return d, false
	}
	there, err := b.FS.Lstat(b.Path(d.Path()))
	if err != nil || !there.Mode().IsRegular() || there.ModTime().After(r.At) {
		return d, false
	}
	copied, err := p.o.FS.Lstat(office.MessagePath(r.ID))
	return d, err == nil && vfs.SameFile(there, copied)
}

// parkable reports whether all that is left to do for the messages of a round is
// what may be parked.
func (p *pass) parkable(jobs []*job) bool {
	if !p.opt.Park || p.boot == "" || p.broken {
		return false
	}
	for _, j := range jobs {
		plain := !j.deferred && !j.copied && j.past == nil && len(j.asks) == 0 && len(j.bounces) == 0 && j.msg.Envelope.Origin == nil
		told := slices.ContainsFunc(j.actions, func(a policy.Action) bool { _, ok := a.(policy.Tell); return ok })
		if !plain || told || len(j.deliveries) == 0 || len(j.deliveries) > parkWide ||
			slices.ContainsFunc(j.deliveries, func(d *delivery) bool { return d.err != nil || !d.fresh }) {
			return false
		}
	}
	return true
}

// park does what may trail and syncs none of it; but for debts, and for the
// journal where it has to announce what follows.
func (p *pass) park(jobs []*job) error {
	if _, err := p.copies(jobs); err != nil {
		return err
	}
	p.indexes(jobs)
	p.batch.Leave()
	records, debts, err := p.journalRound(jobs)
	if err != nil {
		return err
	}
	if _, err := p.owe(debts); err != nil {
		return err
	}
	if err := p.append(records...); err != nil {
		return err
	}
	if p.parked == nil {
		p.parked = &parked{since: p.now, names: map[string]bool{}}
	}
	if p.announces(jobs) {
		p.batch.Do(p.journal.Sync)
	}
	if err := p.batch.Flush(); err != nil {
		return err
	}
	_, err = p.appendSections(jobs)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if !j.deferred {
			j.parked = true
			p.parked.ids = append(p.parked.ids, string(j.msg.ID))
			p.parked.names[j.draft.Name] = true
		}
	}
	return nil
}

// announces notes whose mailboxes and which transcripts the jobs write to, and
// reports whether one of them is the first since the last settled record.
func (p *pass) announces(jobs []*job) (fresh bool) {
	note := func(what string) {
		if !slices.Contains(p.parked.announced, what) {
			p.parked.announced, fresh = append(p.parked.announced, what), true
		}
	}
	for _, j := range jobs {
		for _, d := range j.deliveries {
			note(d.To.AID)
		}
		for _, s := range j.sections {
			note(s.intent.File)
		}
	}
	return fresh
}

// authorOf is who has, or had, a name.
func (p *pass) authorOf(name string) office.Author {
	if e, ok := p.reg.Entry(name); ok {
		if a, err := p.o.Author(e); err == nil {
			return a
		}
	}
	return p.o.SystemAuthor(name)
}
