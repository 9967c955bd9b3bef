package router

import (
	"errors"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// defaultGrace is how long a file that does not parse may still be somebody
// mid-write (design §3).
const defaultGrace = 5 * time.Second

// lockPatience is how long the router waits for a mailbox's lock; an owner that
// sits on it delays its own hand-written mail only.
const lockPatience = 100 * time.Millisecond

// adoptAll turns hand-written files into stamped ones and returns their jobs.
// What can't be adopted now is left alone for the rest of the pass.
func (p *pass) adoptAll(a office.Author, raws []spool.Draft) []*job {
	var jobs []*job
	for _, d := range raws {
		if a.Far() {
			p.failFar(a, d)
			continue
		}
		m, err := authored(d)
		if err == nil {
			if j := p.adopt(a, d, m); j != nil {
				jobs = append(jobs, j)
				continue
			}
		} else if d.Dir == spool.Outbox && !p.stillBeingWritten(d) && p.failRaw(a, d, err) {
			continue
		}
		p.rep.Waiting++
		p.skipFile(a, d.Path())
	}
	return jobs
}

// adopt turns one hand-written file into a stamped one, durably; nil if it has
// to wait.
func (p *pass) adopt(a office.Author, d spool.Draft, m *mail.Message) *job {
	if p.locked[a.Tag()] {
		return nil
	}
	j, err := p.stampAdopted(a, d, m)
	if err != nil {
		kind := mail.KindOf(err)
		if d.Dir == spool.Outbox && (kind == mail.KindTooLarge || kind == mail.KindInvalid) && p.failRaw(a, d, err) {
			return nil // what can't be stamped now never can be
		}
		p.locked[a.Tag()] = kind == mail.KindBusy
		if !p.locked[a.Tag()] && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			p.problem("adopt", a.Name, err)
		}
		return nil
	}
	if d.Dir == spool.Failed {
		a.Box.DropWhy(d.Name) // a reason without a file explains nothing, and harms nobody
	}
	return j
}

func authored(d spool.Draft) (*mail.Message, error) {
	if d.Err != nil {
		kind := mail.KindInvalid
		if errors.Is(d.Err, spool.ErrTooLarge) {
			kind = mail.KindTooLarge
		}
		return nil, &mail.Error{Op: "read mail", Kind: kind, Addr: d.Name, Err: d.Err,
			Hint: "put a regular JSON file of at most 1 MiB there"}
	}
	m, _, err := mail.ParseAuthored(d.Data)
	return m, err
}

// stillBeingWritten is judged by the distance between now and the last change,
// whichever way the clock was set.
func (p *pass) stillBeingWritten(d spool.Draft) bool {
	grace := p.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	return d.Info != nil && d.Info.Mode().IsRegular() && !errors.Is(d.Err, spool.ErrTooLarge) &&
		p.o.Sys.Now().Sub(d.Info.ModTime()).Abs() < grace
}

func inode(fi fs.FileInfo) uint64 {
	_, ino, _ := vfs.Inode(fi)
	return ino
}

func (p *pass) stampAdopted(a office.Author, d spool.Draft, m *mail.Message) (*job, error) {
	claimed := m.ID
	m.From, m.Envelope = a.Name, nil
	m.To, m.CC = p.o.Canonical(p.reg, m.To), p.o.CanonicalAll(p.reg, m.CC)
	world, err := p.o.World(p.reg, a, m, p)
	if err != nil {
		return nil, err
	}
	id, err := p.idFor(a, d, m)
	if err != nil {
		return nil, err
	}
	m.Envelope = &mail.Envelope{Origin: &mail.Origin{Name: d.Name, Inode: inode(d.Info), Digest: d.Digest}}
	if claimed != "" && claimed != id {
		m.Envelope.ClaimedID = string(claimed)
	}
	if stamped, bounce := p.o.Stamp(m, a, id, world, p.now); bounce == nil {
		m = stamped
	} else {
		m = p.o.StampRefused(m, a, id, p.now) // it gets its id, then bounces like any other
	}
	data, err := m.Encode()
	if err != nil {
		return nil, err
	}
	if err := a.Box.Adopt(d, id, data); err != nil {
		// The stamped form may be there, but the raw one is too: hands off both.
		p.skipFile(a, spool.Outbox+"/"+spool.FileName(id))
		return nil, err
	}
	draft, err := a.Box.Draft(spool.FileName(id))
	if err != nil || draft.Err != nil {
		return nil, errors.Join(err, draft.Err)
	}
	return &job{author: a, draft: draft, msg: m}, nil
}

// idFor keeps the id that the author wrote where the rules allow it (design
// §4), else takes the next one from the mailbox's clock.
func (p *pass) idFor(a office.Author, d spool.Draft, m *mail.Message) (mail.ID, error) {
	if d.Path() == spool.Outbox+"/"+spool.FileName(m.ID) {
		if may, _ := p.mayUse(m.ID, a, d.Digest); may {
			if free, err := p.free(a, m.ID, d.Path()); err != nil || free {
				return m.ID, err
			}
		}
	}
	unlock, err := a.Box.Lock(lockPatience)
	if err != nil {
		return "", err
	}
	defer unlock()
	clock := a.Box.OpenClock()
	if m.InReplyTo.Valid() {
		clock.Observe(m.InReplyTo, p.now, driftLimit)
	}
	for {
		id := clock.Next(p.now, a.Tag())
		free, err := p.free(a, id, "")
		if err != nil {
			return "", err
		}
		if free {
			return id, clock.SaveSeen()
		}
	}
}

// free reports whether nobody has an id: neither the office nor the author,
// but for the file itself.
func (p *pass) free(a office.Author, id mail.ID, itself string) (bool, error) {
	name := spool.FileName(id)
	taken, err := spool.Exists(p.o.FS, office.MessagePath(id))
	for _, dir := range []string{spool.Outbox, spool.Sent, spool.Failed} {
		if path := dir + "/" + name; err == nil && !taken && path != itself {
			taken, err = spool.Exists(a.Box.FS, a.Box.Path(path))
		}
	}
	return err == nil && !taken, err
}

// sayAdopted records the adoption, and tells the author if another id had to be
// given (design §4).
func (p *pass) sayAdopted(j *job) error {
	m, e := j.msg, j.msg.Envelope
	if e.Origin == nil || j.copied {
		return nil
	}
	rec := journal.Record{At: p.now, Event: journal.Adopted, ID: m.ID, From: m.From, AID: j.author.AID, Act: string(m.Act),
		Conversation: m.Conversation, Digest: e.Origin.Digest, File: e.Origin.Name}
	j.records = append(j.records, rec)
	if e.ClaimedID == "" {
		return nil
	}
	claimed := mail.Neutralise(e.ClaimedID, false)
	rec.Event, rec.Detail = journal.Claimed, map[string]string{"claimed": claimed}
	j.records = append(j.records, rec)
	return p.notice(notice{to: j.author.Agent, cause: m.ID, key: []string{"claimed"}, subject: "Another id was given",
		body: "Your message \"" + mail.Neutralise(m.Subject, false) + "\" said it was " + claimed + ", which is not yours to use. It has the id " + string(m.ID) + "."})
}
