// Package dispatch is what every program that moves mail does: a pass, then the
// wakes that it calls for, with the evidence in the journal. It joins router,
// mailbox and notify, which do not know each other (docs/architecture.md).
//
// Invariants. Nobody is woken before the lease is released, nor for mail that
// is not durably in the inbox. A wake that failed or took too long is said so,
// and tried again by later passes. What wakes an agent may be a command that
// the registry names, so nobody is woken from an office that may not be written:
// one that came with a repository was made by somebody else.
package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
)

// Budget is how long a sender waits for a recipient to be woken (design §6).
const Budget = 2 * time.Second

// Dispatcher routes and wakes in one office.
type Dispatcher struct {
	Office *office.Office
	Router *router.Router
	Table  notify.Table
	// Program is what a wake tells the agent to run: "post", or its path.
	Program string
	// Ready sets Table and Program when somebody is to be woken; nil: they are
	// set. Most mail wakes nobody.
	Ready func(*Dispatcher)
	// Alive reports whether a process that began at start still runs; nil if
	// that cannot be told here.
	Alive func(pid int, start string) bool
	// Speaks reports whether a session may be the agent's, by what this user's
	// state says; nil if that says nothing. A mailbox says what its owner likes.
	Speaks func(aid, runtime, session string) bool

	ready    sync.Once
	mu       sync.Mutex
	attempts []notify.Attempt
	left     bool // others left attempts on disk
	book     *registry.Registry
	woken    []registry.Entry // who in book needs waking at all
}

// New returns a dispatcher with the adapters that the calling program carries.
func New(o *office.Office, table notify.Table, program string) *Dispatcher {
	return &Dispatcher{Office: o, Router: &router.Router{Office: o}, Table: table, Program: program}
}

// Woken is one recipient's wake.
type Woken struct {
	Agent   string
	AID     string
	Kind    string // of the adapter
	Outcome notify.Outcome
	Err     error
}

// Surfaced reports whether nothing is left to be done for the recipient to
// learn of its mail.
func (w Woken) Surfaced() bool { return w.Err == nil && w.Outcome.State.Settled() }

// Pass routes once and wakes whoever got mail, then whoever is due for another
// try.
func (d *Dispatcher) Pass(ctx context.Context, opt router.Options) (router.Report, []Woken, error) {
	rep, err := d.Router.Pass(ctx, opt)
	woken := d.WakeUnrecorded(ctx, rep.Wake)
	if rep.Repaired > 0 || opt.All {
		d.Retry(ctx, rep.Repaired > 0)
	}
	d.Reach(ctx) // what could not be done is on record, and tried again
	d.Flush()
	return rep, woken, err
}

// Retry wakes whoever is due for another try. With sweep it looks into every
// inbox, also of agents for whom nothing is known to be owed: a crash may have
// come between a delivery and its wake.
func (d *Dispatcher) Retry(ctx context.Context, sweep bool) error {
	if err := d.Office.CheckWritable(); err != nil {
		return err
	}
	if notify.AnyLeft(d.Office.FS) {
		d.mu.Lock()
		d.left = true
		d.mu.Unlock()
	}
	if sweep {
		return d.arbiter().Sweep(ctx, d.recipients(), d.Office.Sys.Now())
	}
	_, err := d.arbiter().Retry(ctx, d.recipients(), d.Office.Sys.Now())
	return err
}

// Deliver routes an author's messages until something true can be said of each,
// and wakes the recipients. early is called for each message as soon as it is
// durable where it belongs; it may be nil.
func (d *Dispatcher) Deliver(ctx context.Context, author office.Author, msgs []*mail.Message, early func(router.Result)) ([]router.Result, []Woken, error) {
	var results []router.Result
	rep, err := d.Router.Drain(ctx, author, msgs, func(r router.Result) {
		results = append(results, r)
		if early != nil {
			early(r)
		}
	})
	wake := rep.Wake
	for _, r := range results { // delivered by somebody else's pass: that one wakes, we make sure
		for _, f := range r.Fates {
			if f.State != router.Delivered || has(wake, f.Agent.AID) {
				continue
			}
			if e, ok := d.entry(f.Agent.AID); ok {
				wake = append(wake, e)
			}
		}
	}
	patient := true // somebody waits for the answer
	woken := d.wake(context.WithoutCancel(ctx), patient, wake)
	d.Reach(ctx)
	d.Flush()
	return results, woken, err
}

func has(list []registry.Entry, aid string) bool {
	for _, e := range list {
		if e.AID == aid {
			return true
		}
	}
	return false
}

func (d *Dispatcher) entry(aid string) (registry.Entry, bool) {
	if aid == "" {
		return registry.Entry{}, false
	}
	reg, err := d.Office.Book()
	if err != nil {
		return registry.Entry{}, false
	}
	return reg.EntryByAID(aid)
}

// NeedsWaking reports whether an agent is woken by anything at all.
func NeedsWaking(e registry.Entry) bool {
	return !e.Archived && len(e.Notify) > 0 && e.Notify[0] != "" && e.Notify[0] != "none"
}

// Wake wakes the agents, side by side, each within its budget, and journals the
// evidence.
func (d *Dispatcher) Wake(ctx context.Context, agents []registry.Entry) []Woken {
	woken := d.WakeUnrecorded(ctx, agents)
	d.Flush()
	return woken
}

// WakeUnrecorded is Wake for who calls Flush himself, for many at once.
func (d *Dispatcher) WakeUnrecorded(ctx context.Context, agents []registry.Entry) []Woken {
	return d.wake(ctx, false, agents)
}

func (d *Dispatcher) wake(ctx context.Context, patient bool, agents []registry.Entry) []Woken {
	var out []Woken
	var wg sync.WaitGroup
	for _, e := range agents {
		if NeedsWaking(e) {
			out = append(out, Woken{Agent: e.Name, AID: e.AID, Kind: e.Notify[0]})
		}
	}
	if len(out) == 0 {
		return nil
	}
	arbiter := d.arbiter()
	arbiter.Patient = patient
	err := d.Office.CheckWritable()
	for i := range out {
		if err != nil {
			out[i].Outcome, out[i].Err = refused(err), err
			continue
		}
		e, _ := d.entry(out[i].AID)
		wg.Go(func() {
			out[i].Outcome, out[i].Err = arbiter.Wake(ctx, agentOf(e), d.unread(e.Name), d.Office.Sys.Now())
		})
	}
	wg.Wait()
	return out
}

// Renotify wakes an agent again whatever was tried before (post renotify).
func (d *Dispatcher) Renotify(ctx context.Context, e registry.Entry) Woken {
	w := Woken{Agent: e.Name, AID: e.AID, Kind: "none"}
	if len(e.Notify) > 0 {
		w.Kind = e.Notify[0]
	}
	if w.Err = d.Office.CheckWritable(); w.Err != nil {
		w.Outcome = refused(w.Err)
		return w
	}
	w.Outcome, w.Err = d.arbiter().Force(ctx, agentOf(e), d.unread(e.Name), d.Office.Sys.Now())
	d.Flush()
	return w
}

func refused(err error) notify.Outcome {
	return notify.Outcome{State: notify.Failed, Evidence: mail.Neutralise(err.Error(), false)}
}

// makeReady sets what wakes and notices need.
func (d *Dispatcher) makeReady() {
	if d.Ready != nil {
		d.ready.Do(func() { d.Ready(d) })
	}
}

func (d *Dispatcher) arbiter() *notify.Arbiter {
	d.makeReady()
	return &notify.Arbiter{FS: d.Office.FS, Office: d.Office.Dir, OfficeID: d.Office.Config.ID, Table: d.Table,
		Program: d.Program, Budget: Budget, Record: d.record, Session: d.session}
}

func agentOf(e registry.Entry) notify.Agent {
	return notify.Agent{Name: e.Name, AID: e.AID, Workspace: e.Workspace, Runtime: e.Runtime, Notify: e.Notify}
}

// unread lists what an agent has not read, in delivery order.
func (d *Dispatcher) unread(name string) notify.Unread {
	return func() (w notify.Waiting, err error) {
		m, err := mailbox.Open(d.Office, name)
		if err != nil {
			return w, err
		}
		items, err := m.List(true)
		for _, it := range items {
			w.IDs = append(w.IDs, it.ID)
			if it.State == mailbox.Surfaced {
				w.Surfaced = append(w.Surfaced, it.ID)
			}
			if it.Obliges {
				w.Oblige++
			}
		}
		return w, err
	}
}

// session is what the agent's own session said of itself, nil if nothing is
// known. One whose process is gone has ended, whatever it said last.
func (d *Dispatcher) session(agent notify.Agent) *presence.Session {
	e, ok := d.entry(agent.AID)
	if !ok {
		return nil
	}
	box, err := d.Office.Box(e)
	if err != nil {
		return nil
	}
	s, ok, err := presence.ReadIn(box.FS, box.Dir)
	if err != nil || !ok {
		return nil // a hint that cannot be read is no hint
	}
	if d.Speaks != nil && !d.Speaks(agent.AID, s.Runtime, s.ID) {
		return nil // another's session is not woken for this one's mail
	}
	if s.PID != 0 && d.Alive != nil && !d.Alive(s.PID, s.Start) {
		s.State = presence.Ended
	}
	return &s
}

func (d *Dispatcher) recipients() []notify.Recipient {
	reg, err := d.Office.Book()
	if err != nil {
		return nil
	}
	var out []notify.Recipient
	for _, e := range d.wakeable(reg) {
		out = append(out, notify.Recipient{Agent: agentOf(e), Unread: d.unread(e.Name)})
	}
	return out
}

// wakeable lists who needs waking at all; for a router that runs all the time
// it is remembered with the book.
func (d *Dispatcher) wakeable(reg *registry.Registry) []registry.Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.book == reg {
		return d.woken
	}
	var woken []registry.Entry
	read := 0
	for e := range reg.All() {
		read++
		if NeedsWaking(e) {
			woken = append(woken, e)
		}
	}
	if read == reg.Len() { // an entry that can't be read now is asked for again
		d.book, d.woken = reg, woken
	}
	return woken
}
