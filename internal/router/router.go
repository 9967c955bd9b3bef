// Package router moves mail: outbox, rules, inbox, and only then everything
// that may trail (design §3, §6, §7; docs/architecture.md).
//
// The router is a role. Whoever holds the lease runs Pass; nothing here keeps
// state between two passes but what is on disk.
//
// Invariants, in the order in which a pass keeps them:
//
//  1. A hand-written file is adopted durably before it is delivered.
//  2. An inbox entry is durable before anybody is told of it.
//  3. Index, journal, office copy, ledger and notices are durable before the
//     transcript is touched, the transcript before the outbox entry goes.
//  4. Every step can be repeated by somebody else after a crash at any point,
//     with the same ids and recipients, and changes nothing the second time.
//  5. Notifiers run after the lease is released.
package router

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/transcript"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	// perOutbox bounds what one outbox contributes to a round, so that a flood
	// delays nobody else.
	perOutbox = 256
	// rawsPerRound bounds the hand-written ones among them, each of which takes
	// syncs of its own.
	rawsPerRound = 32
	// maxRounds bounds a pass; what is left waits for the next one.
	maxRounds = 64
	// passBudget is how long a pass begins new rounds; then others get the lease.
	passBudget = 2 * time.Second
	// Others is how many outboxes besides its own a sender's pass looks at, in an
	// office too large to look at all of them.
	Others = 8
	// small is up to how many agents a sender's pass looks at every outbox: many
	// senders at once are then served by one pass.
	small = 48
)

// Router routes the mail of one office.
type Router struct {
	Office *office.Office
	// Grace is how long a hand-written file that does not parse may still be
	// being written (design §3); 0 means 5 s.
	Grace time.Duration
}

// Options say what a pass looks at.
type Options struct {
	// Own is the tag (aid, or human) of the author whose outbox comes first.
	Own string
	// All looks at every outbox; otherwise Own and a few others in turn.
	All bool
	// Linger keeps the lease and looks again for so long after the last message,
	// so that the trailing work of many is done together. For a router that runs
	// all the time; 0 for everybody else. Bodies are left out of its report.
	Linger time.Duration
	// Park lets the pass leave unsynced what may trail, if the machine can tell
	// one boot from another. For a sender's own pass.
	Park bool
	// Delivered is called with each message as soon as its inbox entries are
	// durable, before the trailing work. It may be nil.
	Delivered func(Result)
	// Orders are what somebody wants done about debts.
	Orders []Order
	// News are told to a person.
	News []News
}

// pass is the state of one pass: everything here dies with the lease.
type pass struct {
	*Router
	o        *office.Office
	reg      *registry.Registry
	journal  *journal.Journal
	batch    *spool.Batch
	now      time.Time
	opt      Options
	rep      Report
	recent   map[mail.ID]*mail.Message
	seen     map[string][]policy.Seen // what was delivered in this pass, by recipient
	history  map[string][]policy.Seen // what the indexes had before, by recipient
	fuses    *bool                    // nil: not looked yet
	wake     map[string]bool
	requeued []office.Author
	blown    map[approval.FuseKey]mail.ID // fuses blown in this pass
	touched  bool                         // something was journalled since the last settled record
	broken   bool                         // a round was broken off: nothing more may be settled
	// skip has the outbox files that can't move now: each is tried once in a
	// pass, and makes room for those behind it.
	skip map[file]bool
	// problems are what went wrong with single mailboxes, by author: nobody
	// else's mail waits for them.
	problems map[string]error
	locked   map[string]bool              // authors who hold their mailbox lock
	steps    int                          // how much has moved in this pass
	wrote    bool                         // the pass itself put mail into an outbox
	looked   []office.Author              // whose outboxes this pass looks at
	waits    time.Duration                // how often the pass waited for nothing else, a count
	late     []office.Author              // whose files the last look left to their senders
	share    int                          // what one outbox contributes to a look
	beside   bool                         // records are being written: stamped messages only
	boot     string                       // of the machine; "" if it can't be told
	up       time.Duration                // since then
	jumped   bool                         // a jump of the wall clock is in the ledger
	parked   *parked                      // what is written and not synced; nil: nothing
	ends     map[string]transcript.Intent // the last sections that redo found or wrote, by transcript
}

// file names one file of a mailbox, by its author's tag and its path there.
type file struct{ tag, path string }

// Pass takes the lease, routes what waits and gives the lease back. KindBusy:
// somebody else is routing. KindReadOnly: this process may not.
func (r *Router) Pass(ctx context.Context, opt Options) (Report, error) {
	if err := r.Office.CheckWritable(); err != nil {
		return Report{}, err
	}
	s := r.Office.Sys
	lease, err := spool.AcquireLease(r.Office.FS, spool.Holder{PID: s.PID, Host: s.Host, Since: s.Now().UTC(), Version: s.Version})
	if err != nil {
		return Report{}, err
	}
	defer lease.Release()
	p, err := r.begin(opt)
	if err != nil {
		return Report{}, err
	}
	defer p.journal.Close()
	err = p.run(ctx)
	return p.rep, err
}

func (r *Router) begin(opt Options) (*pass, error) {
	o := r.Office
	reg, err := o.Book()
	if err != nil {
		return nil, err
	}
	now := o.Sys.Now().UTC()
	boot, up, _ := o.Sys.Boot()
	j, err := journal.Resume(o.FS, now, boot)
	if err != nil {
		return nil, err
	}
	return &pass{Router: r, o: o, reg: reg, journal: j, batch: o.Sys.Batch(), now: now, opt: opt, boot: boot, up: up,
		recent: map[mail.ID]*mail.Message{}, seen: map[string][]policy.Seen{}, history: map[string][]policy.Seen{}, share: perOutbox, wake: map[string]bool{}, blown: map[approval.FuseKey]mail.ID{},
		skip: map[file]bool{}, problems: map[string]error{}, locked: map[string]bool{}}, nil
}

func (p *pass) run(ctx context.Context) error {
	defer p.reportWakes()
	defer p.toldOf()
	if err := p.resume(); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return p.rounds(ctx, p.authors) },
		p.orders, p.news, p.decisions, p.overdue, p.foldReceipts,
		func() error {
			if !p.wrote {
				return nil
			}
			return p.rounds(ctx, p.officeAndRequeued) // what those wrote is mail like any other
		},
	}
	var errs []error
	for _, step := range steps {
		if err := step(); err != nil {
			errs = append(errs, err)
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(p.problems)) {
		errs = append(errs, p.problems[tag])
	}
	if p.broken {
		return errors.Join(errs...) // not settled: the next pass redoes what this one journalled
	}
	err := p.settle()
	p.rep.Complete = err == nil
	return errors.Join(append(errs, err)...)
}

func (p *pass) reportWakes() {
	for _, aid := range slices.Sorted(maps.Keys(p.wake)) {
		if e, ok := p.reg.EntryByAID(aid); ok {
			p.rep.Wake = append(p.rep.Wake, e)
		}
	}
}

// rounds repeats a round until the outboxes have nothing more that can move.
func (p *pass) rounds(ctx context.Context, authors func() []office.Author) error {
	for n := 0; n < maxRounds && ctx.Err() == nil && !p.broken; n++ {
		steps := p.steps + len(p.skip)
		p.wrote = false
		found, err := p.round(ctx, authors())
		if err != nil {
			p.broken = true
			return err
		}
		if p.steps+len(p.skip) == steps || p.o.Sys.Now().Sub(p.now) > passBudget {
			return nil
		}
		// A sender's pass looks again only where it knows that there is more: what
		// others write meanwhile they route themselves.
		if !p.opt.All && !p.wrote && found < perOutbox {
			if len(p.late) == 0 || n > 0 {
				return nil
			}
			late := p.late // stored by now, in all likelihood: one pass less
			authors = func() []office.Author { return late }
			continue
		}
		authors = p.next(authors)
	}
	return ctx.Err()
}

// problem notes what is wrong with one author's or recipient's mailbox.
func (p *pass) problem(op, who string, err error) {
	if p.problems[who] != nil || err == nil {
		return
	}
	var known *mail.Error
	if !errors.As(err, &known) {
		err = &mail.Error{Op: op, Kind: mail.KindStore, Addr: who, Err: err, Hint: `run "post doctor"`}
	}
	p.problems[who] = err
}

// putOff leaves a message in its outbox for the next pass.
func (p *pass) putOff(j *job) {
	j.deferred = true
	p.skipFile(j.author, j.draft.Path())
}

func (p *pass) skipFile(a office.Author, path string) { p.skip[file{a.Tag(), path}] = true }

// next is who is looked at in the following round: the same, and the office,
// which may have written notices.
func (p *pass) next(authors func() []office.Author) func() []office.Author {
	return func() []office.Author {
		list := authors()
		for _, s := range p.officeAuthors() {
			if !hasAuthor(list, s.Tag()) {
				list = append(list, s)
			}
		}
		return list
	}
}

func hasAuthor(list []office.Author, tag string) bool {
	for _, a := range list {
		if a.Tag() == tag {
			return true
		}
	}
	return false
}

// round takes every waiting message one step of the way after the other, all
// of them together, so that their syncs group. An error is the office's own:
// the round is broken off, and what it journalled is redone.
func (p *pass) round(ctx context.Context, authors []office.Author) (found int, err error) {
	if p.opt.Linger > 0 {
		return p.relay(ctx, authors)
	}
	jobs := p.take(authors)
	if len(jobs) == 0 {
		return 0, nil
	}
	if err := p.finish(jobs); err != nil {
		return len(jobs), err
	}
	p.count(jobs)
	return len(jobs), nil
}

// finish does for delivered messages what may trail.
func (p *pass) finish(jobs []*job) error {
	defer vfs.Hold(p.o.FS)()
	steps := []func([]*job) error{p.record, p.transcribe, p.retire}
	if p.parkable(jobs) {
		steps = []func([]*job) error{p.park}
	}
	for _, step := range steps {
		if err := step(jobs); err != nil {
			return err
		}
	}
	return nil
}

// count notes which messages are finished, and leaves the others for the next
// pass.
func (p *pass) count(jobs []*job) {
	for _, j := range jobs {
		if j.retired || j.parked {
			p.steps++
		} else {
			p.putOff(j)
		}
	}
}

// settle marks that everything before it is done, so that the next lease
// holder has nothing to redo; or, as long as something is parked, that all of it
// is written. Not synced: redoing is harmless.
func (p *pass) settle() error {
	if !p.touched {
		return nil
	}
	p.touched = false
	if p.parked != nil {
		return p.journal.Append(p.parked.record(p.boot, p.now))
	}
	return p.journal.Append(journal.Record{At: p.now, Event: journal.Settled})
}

func (p *pass) append(rs ...journal.Record) error {
	p.touched = true
	return p.journal.Append(rs...)
}
