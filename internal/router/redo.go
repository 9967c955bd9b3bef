package router

import (
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

// redo finishes what a pass that died had journalled: office copies, index
// lines and transcript sections that the crash may have lost. What it had not
// journalled is still in an outbox and takes the normal way
// (docs/crash-safety.md).
func (p *pass) redo() error {
	pending, err := p.journal.Unsettled()
	if err != nil {
		return err
	}
	p.mendIndexes(pending)
	for _, r := range pending {
		switch r.Event {
		case journal.Adopted, journal.Bounced, journal.Escalated, journal.Deferred:
			err = p.redoCopy(r)
		case journal.Delivered:
			if err = p.redoCopy(r); err == nil {
				err = p.redoLine(r)
			}
		case journal.Transcript:
			if err = p.redoCopy(r); err == nil {
				err = p.redoSection(r)
			}
		default:
			continue
		}
		if err != nil {
			return err
		}
		p.rep.Repaired++
	}
	if p.rep.Repaired == 0 {
		return p.settleLong(pending)
	}
	for _, in := range p.ends {
		if err := transcript.Trim(p.o.FS, in); err != nil {
			if err := p.unrecoverable(journal.Record{Event: journal.Transcript, File: in.File}, err); err != nil {
				return err
			}
		}
	}
	if err := p.batch.Flush(); err != nil {
		return err
	}
	p.touched = true
	return p.settle()
}

// manyPending is from how many records on that need no redoing a pass marks them as
// settled: until then every pass reads them again, and every join leaves one.
const manyPending = 64

func (p *pass) settleLong(pending []journal.Record) error {
	if len(pending) < manyPending {
		return nil
	}
	if err := p.journal.Sync(); err != nil {
		return err
	}
	p.touched = true
	return p.settle()
}

// redone reports whether redo has anything to do for a record.
func redone(r journal.Record) bool {
	switch r.Event {
	case journal.Adopted, journal.Bounced, journal.Escalated, journal.Deferred, journal.Delivered, journal.Transcript:
		return true
	}
	return false
}

// mendIndexes cuts off what a crash has torn of the lines that nobody had
// synced, before any is written again. A mailbox that can't be mended is found
// broken by redoLine.
func (p *pass) mendIndexes(pending []journal.Record) {
	first := map[string]uint64{}
	for _, r := range pending {
		if r.Event == journal.Delivered && (first[r.AID] == 0 || r.Seq < first[r.AID]) {
			first[r.AID] = r.Seq
		}
	}
	for aid, seq := range first {
		if e, ok := p.reg.EntryByAID(aid); ok {
			if box, err := p.o.Box(e); err == nil {
				if f, err := box.MendIndex(seq); err == nil && f != nil {
					p.batch.File(f)
				}
			}
		}
	}
}

// message finds the text of a journalled message wherever a crash left it.
func (p *pass) message(r journal.Record) (*mail.Message, spool.Source, error) {
	try := []spool.Source{{FS: p.o.FS, Path: office.MessagePath(r.ID)}}
	author := p.authorOf(r.From)
	for _, dir := range []string{spool.Outbox, spool.Sent, spool.Failed} {
		try = append(try, spool.Source{FS: author.Box.FS, Path: author.Box.Path(dir, spool.FileName(r.ID))})
	}
	if e, ok := p.reg.EntryByAID(r.AID); ok {
		if box, err := p.o.Box(e); err == nil {
			for _, dir := range []string{spool.Inbox, spool.Done} {
				try = append(try, spool.Source{FS: box.FS, Path: box.Path(dir, spool.FileName(r.ID))})
			}
		}
	}
	for _, s := range try {
		data, fi, err := spool.ReadMail(s.FS, s.Path)
		if err != nil {
			continue
		}
		if r.Event == journal.Delivered && mail.DigestOf(data) != r.Digest {
			continue // somebody changed it since
		}
		if m, err := mail.Parse(data); err == nil && m.ID == r.ID {
			s.Data, s.Info = data, fi
			return m, s, nil
		}
	}
	return nil, spool.Source{}, &mail.Error{Op: "recover", Kind: mail.KindCorrupt, ID: r.ID,
		Err: errors.New("the journal has it and no mailbox does"), Hint: `run "post verify"`}
}

// redoCopy makes sure that the office has its copy of what the journal names.
// That it has none says elsewhere that the journal knows nothing of a message.
func (p *pass) redoCopy(r journal.Record) error {
	if r.ID == "" {
		return nil
	}
	there, err := spool.Exists(p.o.FS, office.MessagePath(r.ID))
	month := office.MessagesDir + "/" + r.ID.Month()
	if err != nil || there {
		p.batch.Dir(p.o.FS, month) // its name may not be durable yet
		return err
	}
	_, src, err := p.message(r)
	if err != nil {
		return p.unrecoverable(r, err)
	}
	if err := p.o.FS.Mkdir(month, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p.batch.Dir(p.o.FS, office.MessagesDir)
	p.batch.Dir(p.o.FS, month)
	return spool.CopyTo(p.o.FS, month, spool.FileName(r.ID), src)
}

// redoLine writes the index line of a delivery if the crash has lost it. A
// mailbox that is broken or gone is its owner's and doctor's business; so is the
// disk of one that lies outside the office.
func (p *pass) redoLine(r journal.Record) error {
	e, ok := p.reg.EntryByAID(r.AID)
	if !ok {
		return nil
	}
	ours := false
	err := func() error {
		box, err := p.o.Box(e)
		if err != nil {
			return err
		}
		ours = box.Shared
		_, ok, err := box.FindIndex(r.ID, spool.Reach)
		if err != nil || ok {
			return err
		}
		m, _, err := p.message(r)
		if err != nil {
			return err
		}
		f, err := box.AppendIndex([]mail.IndexLine{lineOf(r, m)})
		if err == nil {
			p.batch.File(f)
		}
		return err
	}()
	if err == nil {
		return nil
	}
	p.problem("append index", "mailbox of "+e.Name, err)
	if ours {
		return p.unrecoverable(r, err)
	}
	return p.lost(r, err)
}

// lineOf is the index line that the journal remembers.
func lineOf(r journal.Record, m *mail.Message) mail.IndexLine {
	l := mail.IndexLine{Seq: r.Seq, ID: r.ID, Digest: r.Digest, From: r.From, Act: r.Act, Subject: m.Subject,
		Conversation: r.Conversation, As: r.As}
	l.Turns, _ = strconv.Atoi(r.Detail["turns"])
	l.Chain, _ = strconv.Atoi(r.Detail["chain"])
	l.Since, _ = time.Parse(time.RFC3339, r.Detail["since"])
	return l
}

func (p *pass) redoSection(r journal.Record) error {
	in := transcript.Intent{File: r.File, Offset: r.Offset, Length: r.Length, Digest: r.Digest}
	render := func() ([]byte, error) {
		m, _, err := p.message(r)
		if err != nil {
			return nil, err
		}
		return transcript.Render(r.Detail["header"], m, r.At, p.o.Config.Policy.Arrow), nil
	}
	outcome, err := transcript.Recover(p.o.FS, in, render)
	if err != nil {
		return p.unrecoverable(r, err)
	}
	if outcome == transcript.Cut || outcome == transcript.Short {
		return p.rewriteSection(r, render)
	}
	p.ended(in)
	return transcript.Sync(p.o.FS, in)
}

// rewriteSection writes a section that was cut away, or never begun, anew.
func (p *pass) rewriteSection(r journal.Record, render func() ([]byte, error)) error {
	text, err := render()
	if err != nil {
		return p.unrecoverable(r, err)
	}
	in, err := transcript.Prepare(p.o.FS, r.File, text)
	if err != nil {
		return err
	}
	again := journal.Record{At: r.At, Event: journal.Transcript, ID: r.ID, From: r.From, File: in.File, Offset: in.Offset,
		Length: in.Length, Digest: in.Digest, Detail: r.Detail}
	if err := p.append(again); err != nil {
		return err
	}
	if err := p.journal.Sync(); err != nil {
		return err
	}
	if err := transcript.Append(p.o.FS, in, text); err != nil {
		return err
	}
	p.ended(in)
	return transcript.Sync(p.o.FS, in)
}

// ended notes the last section of each transcript that was redone.
func (p *pass) ended(in transcript.Intent) {
	if p.ends == nil {
		p.ends = map[string]transcript.Intent{}
	}
	if p.ends[in.File].End() < in.End() {
		p.ends[in.File] = in
	}
}

// unrecoverable says in the journal what could not be restored, so that it
// holds up nothing else and verify shows it. A full disk is no reason to give
// anything up: when there is room again the next pass restores it.
func (p *pass) unrecoverable(r journal.Record, cause error) error {
	if vfs.IsFull(cause) {
		return cause
	}
	return p.lost(r, cause)
}

func (p *pass) lost(r journal.Record, cause error) error {
	rec := lost(p.now, r.ID, r.Event, r.File, cause)
	rec.AID = r.AID
	return p.append(rec)
}

// lost is the record of something that an office at rest should have and lacks.
func lost(now time.Time, id mail.ID, event, file string, cause error) journal.Record {
	return journal.Record{At: now, Event: journal.Recovered, ID: id, File: file,
		Detail: map[string]string{"lost": event, "cause": mail.Neutralise(cause.Error(), false)}}
}
