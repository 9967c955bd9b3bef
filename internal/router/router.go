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
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

const (
	// perOutbox bounds what one outbox contributes to a round, so that a flood
	// delays nobody else.
	perOutbox = 256
	// maxRounds bounds a pass; what is left waits for the next one.
	maxRounds = 64
	// Others is how many outboxes besides its own a sender's pass looks at.
	Others = 8
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
	// Delivered is called with each message as soon as its inbox entries are
	// durable, before the trailing work. It may be nil.
	Delivered func(Result)
}

// Result is what became of one message in a pass.
type Result struct {
	ID     mail.ID
	Author string // tag
	Name   string // file name, for a hand-written file that failed
	Mail   *mail.Message
	Fates  []Fate
}

// Fate is what became of a message for one recipient.
type Fate struct {
	Agent    policy.Agent // zero for a person or the whole message
	State    State
	Approval string
	Err      error
}

// State of a message for one recipient.
type State string

// The states.
const (
	Delivered State = "delivered"
	Asked     State = "asked"
	Bounced   State = "bounced"
	Deferred  State = "deferred" // the inbox can't be written now; tried again
)

// Report sums up a pass.
type Report struct {
	Results []Result
	// Wake lists the agents that got mail.
	Wake []registry.Entry
	// Waiting counts hand-written files that may still be being written.
	Waiting int
	// Repaired counts what an earlier crash had left half-done.
	Repaired int
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
	wake     map[string]bool
	requeued []office.Author
	blown    map[approval.FuseKey]mail.ID // fuses blown in this pass
	touched  bool                         // something was journalled since the last settled record
}

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
	reg, err := o.Registry()
	if err != nil {
		return nil, err
	}
	now := o.Sys.Now().UTC()
	j, err := journal.Open(o.FS, now)
	if err != nil {
		return nil, err
	}
	return &pass{Router: r, o: o, reg: reg, journal: j, batch: o.Sys.Batch(), now: now, opt: opt,
		recent: map[mail.ID]*mail.Message{}, wake: map[string]bool{}, blown: map[approval.FuseKey]mail.ID{}}, nil
}

func (p *pass) run(ctx context.Context) error {
	if err := p.redo(); err != nil {
		return err
	}
	var errs []error
	errs = append(errs, p.rounds(ctx, p.authors))
	for _, step := range []func() error{p.decisions, p.overdue, p.foldReceipts} {
		errs = append(errs, step())
	}
	// What those steps wrote is mail like any other.
	errs = append(errs, p.rounds(ctx, p.officeAndRequeued))
	errs = append(errs, p.settle())
	for aid := range p.wake {
		if e, ok := p.reg.EntryByAID(aid); ok {
			p.rep.Wake = append(p.rep.Wake, e)
		}
	}
	return errors.Join(errs...)
}

// rounds repeats a round until the outboxes have nothing more that can move.
func (p *pass) rounds(ctx context.Context, authors func() []office.Author) error {
	for n := 0; n < maxRounds && ctx.Err() == nil; n++ {
		moved, err := p.round(authors())
		if err != nil || !moved {
			return err
		}
		authors = p.next(authors)
	}
	return ctx.Err()
}

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
// of them together, so that their syncs group.
func (p *pass) round(authors []office.Author) (moved bool, err error) {
	jobs, err := p.collect(authors)
	if err != nil || len(jobs) == 0 {
		return false, err
	}
	for _, step := range []func([]*job) error{p.plan, p.deliver, p.record, p.transcribe, p.retire} {
		if err := step(jobs); err != nil {
			return false, err
		}
	}
	for _, j := range jobs {
		moved = moved || j.retired
	}
	return moved, nil
}

// settle marks that everything before it is done, so that the next lease
// holder has nothing to redo. Not synced: redoing is harmless.
func (p *pass) settle() error {
	if !p.touched {
		return nil
	}
	p.touched = false
	return p.journal.Append(journal.Record{At: p.now, Event: journal.Settled})
}

func (p *pass) append(rs ...journal.Record) error {
	p.touched = true
	return p.journal.Append(rs...)
}
