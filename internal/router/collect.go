package router

import (
	"errors"
	"io/fs"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

// job is one stamped message on its way.
type job struct {
	author  office.Author
	draft   spool.Draft
	msg     *mail.Message
	actions []policy.Action
	world   policy.World
	// copied: the office had its copy before this round, so parts of the work
	// may be done already; past says which.
	copied bool
	past   *past

	deliveries []*delivery
	asks       []*ask
	bounces    []policy.Bounce
	sections   []*section
	records    []journal.Record
	retired    bool
	deferred   bool
}

// delivery is one recipient's part of a job.
type delivery struct {
	policy.Deliver
	entry  registry.Entry
	box    spool.Box
	fresh  bool // new in the inbox in this round
	ticket *spool.Ticket
	err    error
	line   mail.IndexLine
}

// authors lists whose outboxes this pass looks at: its own first, people and
// the office, then all others or a few of them, another few each time.
func (p *pass) authors() []office.Author {
	var list []office.Author
	add := func(e registry.Entry) {
		if a, err := p.o.Author(e); err == nil && !hasAuthor(list, a.Tag()) {
			list = append(list, a)
		}
	}
	if e, ok := p.reg.EntryByAID(p.opt.Own); ok {
		add(e)
	}
	list = append(list, p.officeAuthors()...)
	if p.opt.All {
		for _, e := range p.reg.Entries() {
			add(e)
		}
		return list
	}
	active := p.reg.Active()
	start := int(uint64(p.now.UnixNano()/1000) % uint64(max(len(active), 1)))
	for i := range min(Others, len(active)) {
		if e, ok := p.reg.EntryByAID(active[(start+i)%len(active)].AID); ok {
			add(e)
		}
	}
	return list
}

func (p *pass) officeAuthors() []office.Author {
	return []office.Author{p.o.SystemAuthor(office.Human), p.o.SystemAuthor(office.Postroom)}
}

// collect reads the outboxes and adopts what was written by hand. One broken
// outbox stops nobody else.
func (p *pass) collect(authors []office.Author) (jobs []*job, full bool, err error) {
	var errs []error
	for _, a := range authors {
		js, more, err := p.collectFrom(a)
		jobs, full = append(jobs, js...), full || more
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &mail.Error{Op: "read outbox", Kind: mail.KindStore, Addr: a.Name, Err: err, Hint: `run "post doctor"`})
		}
	}
	if len(jobs) == 0 {
		return nil, false, errors.Join(errs...)
	}
	return jobs, full, nil
}

func (p *pass) collectFrom(a office.Author) (jobs []*job, full bool, err error) {
	names, err := a.Box.Pending()
	if err != nil {
		return nil, false, err
	}
	var raws []spool.Draft
	taken := 0
	for _, name := range names {
		key := a.Tag() + "/" + name
		if p.inflight[key] {
			continue
		}
		if taken++; taken > perOutbox {
			full = true
			break
		}
		p.inflight[key] = true
		d, err := a.Box.Draft(name)
		if err != nil {
			continue // gone, or unreadable for now: doctor names it
		}
		if j := p.stamped(a, d); j != nil {
			jobs = append(jobs, j)
		} else {
			raws = append(raws, d)
		}
	}
	for _, d := range raws {
		if j := p.adopt(a, d, spool.Outbox, jobs); j != nil {
			jobs = append(jobs, j)
			p.inflight[a.Tag()+"/"+j.draft.Name] = true
		}
	}
	if p.opt.All && a.AID != "" && !p.lookedAtFailed[a.AID] {
		p.lookedAtFailed[a.AID] = true
		jobs = append(jobs, p.adoptFailed(a, jobs)...)
	}
	return jobs, full, nil
}

// stamped returns the job of a file that the author's own tool has stamped
// and that says nothing it may not say; nil for everything else, which is then
// treated as written by hand (design §4).
func (p *pass) stamped(a office.Author, d spool.Draft) *job {
	if d.Err != nil {
		return nil
	}
	m, err := mail.Parse(d.Data)
	if err != nil || m.Envelope == nil || d.Name != spool.FileName(m.ID) || m.Office != p.o.Config.ID {
		return nil
	}
	if !p.writtenBy(m.From, a) {
		return nil
	}
	may, known := p.mayUse(m.ID, a, d.Digest)
	if !may {
		return nil
	}
	return &job{author: a, draft: d, msg: m, copied: known}
}

// writtenBy reports whether the name is, or was, the author's.
func (p *pass) writtenBy(from string, a office.Author) bool {
	if from == a.Name {
		return true
	}
	owner, ok := p.reg.Agent(from)
	return ok && owner.AID == a.AID && a.AID != ""
}

// driftLimit is how far from now an id may lie before its author doesn't get
// to keep it (design §5).
const driftLimit = 24 * time.Hour

// mayUse decides whether an author may use an id: not another agent's, not out
// of drift, and unknown to the office or known as this very file
// (design §4). An id that nobody's tag fits is anybody's, but not while it
// stands in somebody else's outbox. known: the office has its copy.
func (p *pass) mayUse(id mail.ID, a office.Author, digest mail.Digest) (may, known bool) {
	if !id.Valid() {
		return false, false
	}
	// Notices and answers carry ids derived from their cause; an agent's own tag
	// proves itself. Anything else is a stranger's id, and must be near now.
	own := a.AID == "" || id.OwnedBy(a.AID)
	if age := p.now.Sub(id.Time()).Abs(); !own && (age > driftLimit || !p.unclaimed(id, a)) {
		return false, false
	}
	_, data, err := p.o.ReadMessage(id)
	if errors.Is(err, fs.ErrNotExist) { // a new one: not from the far future, which nothing sorts after
		return a.AID == "" || !mail.Drifted(id, p.now, driftLimit), false
	}
	return err == nil && mail.DigestOf(data) == digest, true
}

func (p *pass) unclaimed(id mail.ID, a office.Author) bool {
	for _, e := range p.reg.Entries() {
		if e.AID == a.AID {
			continue
		}
		if id.OwnedBy(e.AID) {
			return false
		}
		box, err := p.o.Box(e)
		if err != nil {
			continue
		}
		if _, err := box.FS.Lstat(box.Path(spool.Outbox, spool.FileName(id))); err == nil {
			return false
		}
	}
	return true
}

// failRaw moves a hand-written file to .failed, loudly: the journal and the
// author are told.
func (p *pass) failRaw(a office.Author, d spool.Draft, cause error) {
	why := spool.Why{At: p.now, Reason: cause.Error()}
	var e *mail.Error
	if errors.As(cause, &e) {
		why.Hint = e.Hint
	}
	cid := rawCause(d, p.now)
	if err := p.notice(notice{
		to: a.Agent, cause: cid, key: []string{"failed", d.Name, string(d.Digest)}, subject: "Not sent: " + d.Name,
		body: "Your file " + d.Name + " in the outbox was not sent: " + cause.Error() + "\n\nIt is kept in outbox/.failed/ with the reason beside it. Mend it and drop it in the outbox again.",
	}); err != nil {
		return // told first, moved then: the file stays and is tried again
	}
	name, err := a.Box.Fail(d, why)
	if err != nil {
		return
	}
	p.append(journal.Record{At: p.now, Event: journal.Bounced, From: a.Name, AID: a.AID, File: name, Digest: d.Digest,
		Detail: map[string]string{"reason": cause.Error()}})
	p.rep.Results = append(p.rep.Results, Result{Author: a.Tag(), Name: d.Name, Fates: []Fate{{State: Bounced, Err: cause}}})
}

// rawCause is an id to derive a notice's id from when the file has none: its
// last change and content, so that a repeat gives the same.
func rawCause(d spool.Draft, now time.Time) mail.ID {
	at := now
	if d.Info != nil {
		at = d.Info.ModTime()
	}
	if at.Sub(now) > driftLimit {
		at = time.Unix(0, 0) // its owner set it; the notice may not lie in the far future
	}
	var c mail.Clock
	return c.Next(at, string(d.Digest)+d.Name)
}
