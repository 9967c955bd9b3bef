package router

import (
	"errors"
	"io/fs"
	"slices"
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
	unsure bool // its name in the outbox may not be durable

	deliveries []*delivery
	asks       []*ask
	bounces    []policy.Bounce
	sections   []*section
	records    []journal.Record
	retired    bool
	parked     bool
	archived   *spool.Ticket // of .sent
	archiveErr error
	deferred   bool
}

// delivery is one recipient's part of a job.
type delivery struct {
	policy.Deliver
	entry  registry.Entry
	box    spool.Box
	fresh  bool // new in the inbox in this round
	ticket *spool.Ticket
	listed *spool.Ticket // of the index line
	err    error
	line   mail.IndexLine
	// unlisted says why the index line could not be written.
	unlisted error
}

// authors lists whose outboxes this pass looks at: its own first, people and
// the office, then all others or a few of them, another few each time.
func (p *pass) authors() []office.Author {
	if p.looked == nil {
		p.looked = slices.Clip(p.chooseAuthors()) // callers append to it
	}
	return p.looked
}

func (p *pass) chooseAuthors() []office.Author {
	var list []office.Author
	add := func(e registry.Entry) {
		if a, err := p.o.Author(e); err == nil {
			list = append(list, a)
		}
	}
	if e, ok := p.reg.EntryByAID(p.opt.Own); ok {
		add(e)
	}
	list = append(list, p.officeAuthors()...)
	if p.opt.All {
		all := p.o.Authors(p.reg)
		list = slices.Grow(list, len(all))
		for _, a := range all {
			if a.AID != p.opt.Own {
				list = append(list, a)
			}
		}
		return list
	}
	some := p.reg.Some(uint64(p.now.UnixNano()/1000), small+1)
	if len(some) > small {
		some = some[:Others]
	}
	for _, a := range some {
		if e, ok := p.reg.EntryByAID(a.AID); ok && e.AID != p.opt.Own {
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
func (p *pass) collect(authors []office.Author) []*job {
	var jobs []*job
	for _, a := range authors {
		if p.beside && a.AID == "" {
			continue // the records write notices there
		}
		js, err := p.collectFrom(a)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.problem("read outbox", a.Name, err)
		}
		jobs = append(jobs, js...)
	}
	return jobs
}

func (p *pass) collectFrom(a office.Author) ([]*job, error) {
	ids, others, err := a.Box.Pending(func(name string) bool {
		return p.skip[file{a.Tag(), spool.Outbox + "/" + name}] || p.parked != nil && p.parked.names[name]
	})
	if err != nil {
		return nil, err
	}
	// While not all that is stamped can be seen, a hand-written file may be one
	// of those that were adopted already.
	whole := len(ids) <= p.share && !p.beside
	if p.beside {
		others = nil
	}
	var jobs []*job
	var raws []spool.Draft
	vouch := vouched{now: p.now}
	for _, name := range append(ids[:min(len(ids), p.share)], others[:min(len(others), rawsPerRound)]...) {
		m, d, copied, ours, err := p.read(a, name)
		if err != nil { // gone, or unreadable for now: doctor names it
			p.skipFile(a, spool.Outbox+"/"+name)
			continue
		}
		unsure := m != nil && !ours && !copied && !vouch.covers(a, m)
		if unsure && p.leftToSender(a, d) {
			p.late = append(p.late, a)
			continue
		}
		switch {
		case m == nil:
			raws = append(raws, d)
		case p.originGone(a, m):
			jobs = append(jobs, &job{author: a, draft: d, msg: m, copied: copied, unsure: unsure})
		default:
			p.skipFile(a, d.Path())
		}
	}
	if !whole {
		return jobs, nil
	}
	if p.opt.All && a.AID != "" && !a.Far() {
		raws = append(raws, p.refailed(a)...)
	}
	return append(jobs, p.adoptAll(a, raws)...), nil
}

// read reads an outbox file, or takes it from whom in this process has just
// written it, which made it durable (ours); m is nil if it is no stamped message.
func (p *pass) read(a office.Author, name string) (m *mail.Message, d spool.Draft, copied, ours bool, err error) {
	if s, ok := p.o.TakeStored(a, name); ok && p.writtenBy(s.Msg.From, a) {
		if may, known := p.mayUse(s.Msg.ID, a, s.Draft.Digest); may {
			return s.Msg, s.Draft, known, true, nil
		}
	}
	if d, err = a.Box.Draft(name); err != nil {
		return nil, d, false, false, err
	}
	m, copied = p.stamped(a, d)
	return m, d, copied, false, nil
}

// originGone makes sure that the hand-written file that m was made of is gone.
func (p *pass) originGone(a office.Author, m *mail.Message) bool {
	o := m.Envelope.Origin
	if o == nil {
		return true
	}
	err := a.Box.DropOrigin(*o)
	if err != nil {
		p.problem("adopt", a.Name, err)
		p.skipFile(a, spool.Outbox+"/"+o.Name)
		p.skipFile(a, spool.Failed+"/"+o.Name)
	}
	return err == nil
}

// refailed lists files that had failed and were mended where they lay.
func (p *pass) refailed(a office.Author) []spool.Draft {
	drafts, err := a.Box.Refailed(rawsPerRound)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.problem("read outbox", a.Name, err)
	}
	return slices.DeleteFunc(drafts, func(d spool.Draft) bool { return p.skip[file{a.Tag(), d.Path()}] })
}

// stamped returns the message of a file that the author's own tool has stamped
// and that says nothing it may not say; nil for everything else, which is then
// treated as written by hand (design §4). known: the office has its copy.
func (p *pass) stamped(a office.Author, d spool.Draft) (m *mail.Message, known bool) {
	if d.Err != nil {
		return nil, false
	}
	m, err := mail.Parse(d.Data)
	if err != nil || m.Envelope == nil || d.Name != spool.FileName(m.ID) || m.Office != p.o.Config.ID || !p.writtenBy(m.From, a) {
		return nil, false
	}
	may, known := p.mayUse(m.ID, a, d.Digest)
	if !may {
		return nil, false
	}
	return m, known
}

// writtenBy reports whether the name is, or was, the author's.
func (p *pass) writtenBy(from string, a office.Author) bool {
	if from == a.Name {
		return true
	}
	owner, ok := p.reg.Agent(from)
	return ok && owner.AID == a.AID && a.AID != ""
}

// driftLimit is how far in the future an id may lie and still move a clock
// (design §5), and how far a stamped time may lie from its id.
const driftLimit = 24 * time.Hour

// mayUse decides whether an author may use an id: only one with its own tag,
// which nobody else's message has and none that the office will derive, and
// within drift and unknown to the office, or known as this very file (design
// §4). What people and the office write carries ids derived from its cause; what
// a far author wrote has the id of its own office, whose tag would prove nothing
// of an aid that its station says. known: the office has a copy.
func (p *pass) mayUse(id mail.ID, a office.Author, digest mail.Digest) (may, known bool) {
	if !id.Valid() || a.AID != "" && !a.Far() && !id.OwnedBy(a.AID) {
		return false, false
	}
	data, _, err := spool.ReadMail(p.o.FS, office.MessagePath(id))
	if errors.Is(err, fs.ErrNotExist) { // a new one: not from the far future, which nothing sorts after
		return a.AID == "" || a.Far() || !mail.Drifted(id, p.now, driftLimit), false
	}
	return err == nil && mail.DigestOf(data) == digest, true
}
