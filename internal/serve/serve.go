// Package serve is the router that is always there: `postd serve` (design §2,
// §7). It is a convenience. Every promise of delivery holds without it.
//
// Invariants. It takes the lease for each pass and gives it back, so that
// everybody else can route at any time. Scans are the truth, file events are
// hints. A recipient that is slow to wake delays nobody's mail: wakes run
// beside the passes. At most one runs for an office. It logs who, what and why,
// never a body or a subject. What it listens on is loopback, but for a page that a
// person wanted elsewhere, with TLS.
package serve

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
)

// Server serves one office. The zero values of the optional fields are fine.
type Server struct {
	Dir     string // of the office, absolute
	Sys     office.System
	Table   notify.Table
	Program string                           // what a wake tells an agent to run: "post", or its path
	Alive   func(pid int, start string) bool // of dispatch.Dispatcher
	Speaks  func(aid, runtime, session string) bool
	Log     *slog.Logger
	// Listen is a loopback address; port 0 is chosen by the system.
	Listen string
	// StateDir is where the address is written: <StateDir>/serve/<office>.json.
	StateDir string
	// Page answers whatever is not /healthz; nil is nothing. Its answers are cut off
	// after ten seconds, but for those that set a deadline of their own.
	Page http.Handler
	// Outside serves the page to other machines too; nil is nowhere.
	Outside *Outside
	// Ready is called when the first pass is done and the address is open.
	Ready func(addr string)
	// Sides run beside the router until ctx ends: the audit, later the links.
	Sides []Side
	// Nudges ask for one agent's mail to be looked at: it can be woken now. May be
	// nil.
	Nudges <-chan Nudge

	// Rescan is how often mailboxes are looked at whatever the file events say
	// (0: 500 ms); Full is how often a pass runs whatever the look says (0: 5 s).
	Rescan, Full time.Duration

	noEvents bool // for tests: as on a system without file events
}

// Nudge names an agent that can be woken now. Again has all of its unread mail
// announced anew: what it was told last may be lost with the session.
type Nudge struct {
	AID   string
	Again bool
}

// Side is something that runs beside the router.
type Side interface {
	// Name is its key in /healthz.
	Name() string
	// Run works until ctx ends. It may not stop the router, so it returns
	// nothing: trouble is logged and shown by State.
	Run(ctx context.Context)
	// State is what /healthz shows; it marshals to JSON.
	State() any
}

const (
	rescan = 500 * time.Millisecond
	full   = 5 * time.Second
)

// Run serves until ctx ends: then it finishes the pass and the wakes under way
// and returns nil. It returns an error if it cannot serve at all: another serve
// has the office (KindConflict), the address is not loopback or not free
// (KindUsage, KindConflict), the office may not be written (KindReadOnly) or is
// not here any more (KindForeign).
func (s *Server) Run(ctx context.Context) error {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	o, err := office.Open(s.Dir, s.Sys)
	if err != nil {
		return err
	}
	if err := o.CheckWritable(); err != nil {
		return err
	}
	lock, err := takeLock(o)
	if err != nil {
		return err
	}
	defer lock.Close()
	doors, err := s.reopen(o)
	if err != nil {
		return err
	}
	defer doors.close()
	run, err := s.start(o)
	if err != nil {
		return err
	}
	defer run.watch.close()
	sign(lock, s.Sys, doors.addr)
	defer s.announce(o.Config.ID, doors)()
	return run.serve(ctx, doors)
}

// gcPercent trades a little work for a small heap: the router is idle nearly
// always (limits.md, router memory).
const gcPercent = 40

func (s *Server) start(o *office.Office) (*run, error) {
	r := &run{Server: s, office: o, pulse: &pulse{started: time.Now()}, wakes: newWakes(s.Log), worked: true}
	r.dispatch = s.dispatcher(o)
	r.watch = newWatch(s.Log, !s.noEvents)
	if err := r.reload(); err != nil {
		r.watch.close()
		return nil, err
	}
	r.watch.lookAll(&r.todo) // events come from here on, before the first pass looks
	return r, nil
}

func (s *Server) dispatcher(o *office.Office) *dispatch.Dispatcher {
	d := dispatch.New(o, s.Table, s.Program)
	d.Alive, d.Speaks = s.Alive, s.Speaks
	return d
}

func (r *run) serve(ctx context.Context, doors *doors) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	servers := r.open(doors, &beside)
	for _, side := range r.Sides {
		beside.Go(func() { side.Run(ctx) })
	}
	err := r.loop(ctx, func() {
		r.Log.Info("serving", "office", r.office.Config.ID, "address", doors.addr, "version", r.Sys.Version)
		if r.Ready != nil {
			r.Ready(doors.addr)
		}
	})
	cancel()
	for _, web := range servers {
		web.Close()
	}
	beside.Wait()
	r.wakes.finish()
	if ferr := r.dispatch.Flush(); ferr != nil {
		r.Log.Warn("the evidence of wakes is not in the journal", "error", ferr.Error())
	}
	r.Log.Info("stopped", "office", r.office.Config.ID)
	return err
}
