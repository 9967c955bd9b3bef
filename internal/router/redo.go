package router

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
)

// redo finishes what a pass that died had journalled: index lines, office
// copies and transcript sections that the crash may have lost. What it had not
// journalled is still in an outbox and takes the normal way
// (docs/crash-safety.md).
func (p *pass) redo() error {
	pending, err := p.journal.Unsettled()
	if err != nil || len(pending) == 0 {
		return err
	}
	pending = slices.DeleteFunc(pending, func(r journal.Record) bool {
		return r.Event != journal.Delivered && r.Event != journal.Transcript
	})
	if len(pending) == 0 {
		return nil
	}
	for _, r := range pending {
		var err error
		switch r.Event {
		case journal.Delivered:
			err = p.redoDelivery(r)
		default:
			err = p.redoSection(r)
		}
		if err != nil {
			return err
		}
		p.rep.Repaired++
	}
	if err := p.batch.Flush(); err != nil {
		return err
	}
	p.touched = true
	return p.settle()
}

// message finds the text of a journalled message wherever a crash left it.
func (p *pass) message(r journal.Record) (*mail.Message, spool.Source, error) {
	try := []spool.Source{{FS: p.o.FS, Path: office.MessagePath(r.ID)}}
	author := p.o.SystemAuthor(r.From)
	if e, ok := p.reg.Entry(r.From); ok {
		if a, err := p.o.Author(e); err == nil {
			author = a
		}
	}
	for _, dir := range []string{spool.Outbox, spool.Sent} {
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
		if m, err := mail.Parse(data); err == nil && m.ID == r.ID {
			s.Data, s.Info = data, fi
			return m, s, nil
		}
	}
	return nil, spool.Source{}, &mail.Error{Op: "recover", Kind: mail.KindCorrupt, ID: r.ID,
		Err: errors.New("the journal has it and no mailbox does"), Hint: `run "post verify"`}
}

func (p *pass) redoDelivery(r journal.Record) error {
	m, src, err := p.message(r)
	if err != nil {
		return p.unrecoverable(r, err)
	}
	month := office.MessagesDir + "/" + r.ID.Month()
	if err := p.o.FS.Mkdir(month, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p.batch.Dir(p.o.FS, office.MessagesDir)
	if err := spool.CopyTo(p.o.FS, month, spool.FileName(r.ID), src); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p.batch.Dir(p.o.FS, month)
	e, ok := p.reg.EntryByAID(r.AID)
	if !ok {
		return nil
	}
	box, err := p.o.Box(e)
	if err != nil {
		return nil // its mailbox is gone; doctor says so and rebuilds it
	}
	if _, ok, err := box.FindIndex(r.ID); err != nil || ok {
		return err
	}
	f, err := box.AppendIndex([]mail.IndexLine{lineOf(r, m)})
	if err != nil {
		return nil
	}
	p.batch.File(f)
	return nil
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
	return transcript.Sync(p.o.FS, in)
}

// unrecoverable says in the journal what could not be restored, so that it
// holds up nothing else and verify shows it.
func (p *pass) unrecoverable(r journal.Record, cause error) error {
	return p.append(journal.Record{At: p.now, Event: journal.Recovered, ID: r.ID, AID: r.AID, File: r.File,
		Detail: map[string]string{"lost": r.Event, "cause": mail.Neutralise(cause.Error(), false)}})
}
