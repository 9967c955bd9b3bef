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
	// Linger keeps the lease and looks again for so long after the last message,
	// so that the trailing work of many is done together. For a router that runs
	// all the time; 0 for everybody else.
	Linger time.Duration
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
	seen     map[string][]policy.Seen // by recipient
	fuses    *bool
	wake     map[string]bool
	requeued []office.Author
	blown    map[approval.FuseKey]mail.ID // fuses blown in this pass
	// inflight are the outbox files this pass has taken up, by author and name.
	inflight map[string]bool
	// lookedAtFailed are the authors whose .failed was looked at.
	lookedAtFailed map[string]bool
	wrote          bool // the pass itself put mail into an outbox
	touched        bool // something was journalled since the last settled record
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
		recent: map[mail.ID]*mail.Message{}, seen: map[string][]policy.Seen{}, wake: map[string]bool{}, blown: map[approval.FuseKey]mail.ID{}, inflight: map[string]bool{}, lookedAtFailed: map[string]bool{}}, nil
}

func (p *pass) run(ctx context.Context) error {
	if err := p.redo(); err != nil {
		return err
	}
	var errs []error
	errs = append(errs, p.route(ctx, p.authors()))
	for _, step := range []func() error{p.decisions, p.overdue, p.foldReceipts} {
		errs = append(errs, step())
	}
	if p.wrote { // what those steps wrote is mail like any other
		errs = append(errs, p.route(ctx, p.officeAndRequeued()))
	}
	errs = append(errs, p.settle())
	for aid := range p.wake {
		if e, ok := p.reg.EntryByAID(aid); ok {
			p.rep.Wake = append(p.rep.Wake, e)
		}
	}
	return errors.Join(errs...)
}

// route moves what waits in the outboxes of authors: first everything into the
// inboxes, then, for all of it together, what may trail. Notices that this
// writes, and what a full outbox had left, take another turn.
func (p *pass) route(ctx context.Context, authors []office.Author) error {
	for n := 0; n < maxRounds; n++ {
		p.wrote = false
		jobs, more, err := p.front(ctx, authors)
		if berr := p.back(jobs); err == nil {
			err = berr
		}
		if err != nil || !more && !p.wrote {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p.wrote && !more {
			authors = p.officeAndRequeued()
		}
	}
	return nil
}

// gather bounds how much trailing work piles up before it is done.
const gather = 2048

// front takes mail into the inboxes, and looks again for more until there is
// none, the linger is over, or enough has gathered.
func (p *pass) front(ctx context.Context, authors []office.Author) (jobs []*job, more bool, err error) {
	var until time.Time
	for {
		found, full, err := p.collect(authors)
		if err == nil && len(found) > 0 {
			for _, step := range []func([]*job) error{p.plan, p.deliver} {
				if err = step(found); err != nil {
					break
				}
			}
			if err == nil {
				jobs = append(jobs, found...)
			}
		}
		more = more || full
		switch {
		case err != nil, len(jobs) >= gather, ctx.Err() != nil, len(jobs) == 0, p.opt.Linger == 0 && !full:
			return jobs, more, err
		}
		if len(found) > 0 || full {
			continue
		}
		now := time.Now()
		if until.IsZero() {
			until = now.Add(p.opt.Linger)
		}
		if now.After(until) {
			return jobs, more, nil
		}
		time.Sleep(lingerStep)
	}
}

// lingerStep is how long a lingering pass waits before it looks again.
const lingerStep = 4 * time.Millisecond

// back does what trails: records, then transcripts, then the outboxes.
func (p *pass) back(jobs []*job) error {
	if len(jobs) == 0 {
		return nil
	}
	for _, step := range []func([]*job) error{p.record, p.transcribe, p.retire} {
		if err := step(jobs); err != nil {
			return err
		}
	}
	p.recorded()
	return nil
}

func hasAuthor(list []office.Author, tag string) bool {
	for _, a := range list {
		if a.Tag() == tag {
			return true
		}
	}
	return false
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
