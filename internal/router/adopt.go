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

// adopt turns a hand-written file into a stamped one, durably, and returns its
// job; nil if it has to wait or was failed.
func (p *pass) adopt(a office.Author, d spool.Draft, from string, jobs []*job) *job {
	m, err := authored(d)
	if err != nil {
		if from == spool.Outbox && !p.stillBeingWritten(d) {
			p.failRaw(a, d, err)
		} else {
			p.rep.Waiting++
		}
		return nil
	}
	if twin := adoptedFrom(jobs, d); twin {
		a.Box.DropRaw(d, from) // a pass died between the two steps; a failure is tried again
		return nil
	}
	j, err := p.stampAdopted(a, d, from, m)
	if kind := mail.KindOf(err); from == spool.Outbox && (kind == mail.KindTooLarge || kind == mail.KindInvalid) {
		p.failRaw(a, d, err) // what can't be stamped now never can be
		return nil
	}
	if err != nil {
		p.rep.Waiting++
		return nil
	}
	if from == spool.Failed {
		a.Box.DropWhy(d.Name)
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

func adoptedFrom(jobs []*job, d spool.Draft) bool {
	for _, j := range jobs {
		o := j.msg.Envelope.Origin
		if o != nil && o.Name == d.Name && o.Digest == d.Digest && o.Inode == inode(d.Info) {
			return true
		}
	}
	return false
}

func inode(fi fs.FileInfo) uint64 {
	_, ino, _ := vfs.Inode(fi)
	return ino
}

func (p *pass) stampAdopted(a office.Author, d spool.Draft, from string, m *mail.Message) (*job, error) {
	claimed := m.ID
	m.From, m.Envelope = a.Name, nil
	world, err := p.o.World(p.reg, a, m, p)
	if err != nil {
		return nil, err
	}
	id, err := p.idFor(a, d, m, from)
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
	if err := a.Box.Adopt(d, from, id, data); err != nil {
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
func (p *pass) idFor(a office.Author, d spool.Draft, m *mail.Message, from string) (mail.ID, error) {
	if m.ID.Valid() && d.Name == spool.FileName(m.ID) && from == spool.Outbox {
		if may, known := p.mayUse(m.ID, a, d.Digest); may && !known {
			return m.ID, nil
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
		if _, _, err := p.o.ReadMessage(id); errors.Is(err, fs.ErrNotExist) {
			return id, clock.Save()
		}
	}
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

// adoptFailed adopts files that had failed and were mended where they lay.
func (p *pass) adoptFailed(a office.Author, jobs []*job) []*job {
	drafts, err := a.Box.Refailed(perOutbox)
	if err != nil {
		return nil
	}
	var out []*job
	for _, d := range drafts {
		if j := p.adopt(a, d, spool.Failed, append(jobs, out...)); j != nil {
			out = append(out, j)
		}
	}
	return out
}
