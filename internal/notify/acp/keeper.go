package acp

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/roster"
)

// Agent is what keeping an agent's worker needs to know of it.
type Agent struct {
	Name, AID, Runtime, Workspace string
	Launch                        []string // the program that speaks the protocol, and its arguments
	Allow                         []string // kinds of tools that run without a question
}

// runtime is the name under which the worker's sessions are known.
func (a Agent) runtime() string { return orElse(a.Runtime, notify.KindACP) }

func (a Agent) same(b Agent) bool {
	return a.Name == b.Name && a.Runtime == b.Runtime && a.Workspace == b.Workspace &&
		slices.Equal(a.Launch, b.Launch) && slices.Equal(a.Allow, b.Allow)
}

// Desk is the office as a keeper needs it.
type Desk interface {
	// Workers lists the agents to be kept now.
	Workers() ([]Agent, error)
	// Present writes down what an agent's session does.
	Present(Agent, presence.Session) error
	// Hold makes a session, which a process runs, the one that speaks as the agent.
	Hold(a Agent, session string, pid int, start string) error
	// Taken says why the agent's name is taken by a live session of its own, ""
	// if it is not. pid is what was started here last, which is no other.
	Taken(a Agent, pid int) string
}

// Keeper keeps an office's workers while Run runs. It is an Adapter.
type Keeper struct {
	Office, OfficeID string // absolute directory, id
	Version          string // of this program
	Program          string // what agents type for post
	Roster           *roster.Keeper
	Desk             Desk
	Log              *slog.Logger
	Now              func() time.Time
	// Nudge is called when an agent's mail should be looked at: it can be woken
	// now. again says that what it was told last may be lost. It must not block.
	Nudge func(aid string, again bool)

	// For tests; zero is the default.
	Tick     time.Duration // how often everything is looked at: 500 ms
	Patience time.Duration // for an answer that is no turn: 90 s
	Stall    time.Duration // of a turn without a sign: 30 min
	Settle   time.Duration // of quiet after a session was loaded: 500 ms
	Pause    func(crashes int) time.Duration

	mu      sync.Mutex
	list    map[string]Agent // as registered, by aid
	workers map[string]*worker
	fault   string // what kept the list from being read
}

// settled is for how long nothing must have come for replayed history to be over:
// some agents send it after their answer.
const settled = 500 * time.Millisecond

func (k *Keeper) tick() time.Duration     { return or(k.Tick, 500*time.Millisecond) }
func (k *Keeper) patience() time.Duration { return or(k.Patience, 90*time.Second) }
func (k *Keeper) stall() time.Duration    { return or(k.Stall, 30*time.Minute) }

func or(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}

// Name is the key in /healthz.
func (k *Keeper) Name() string { return "workers" }

// restful is how much more rarely an office without workers is looked at.
const restful = 4

// Run keeps the workers until ctx ends; then it ends them.
func (k *Keeper) Run(ctx context.Context) {
	var beside sync.WaitGroup
	shut := func() {}
	defer beside.Wait()
	defer func() { shut() }()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	for opened := false; ctx.Err() == nil; {
		pause := k.tick()
		switch any := k.look(inner, &beside); {
		case any && !opened:
			shut, opened = k.open(ctx, &beside), true
		case !any && !opened:
			pause *= restful
		}
		wait(ctx, pause)
	}
}

// look compares the workers with what is registered; any says that some are.
func (k *Keeper) look(ctx context.Context, beside *sync.WaitGroup) (any bool) {
	agents, err := k.Desk.Workers()
	if err != nil {
		k.trouble(err.Error()) // those that run go on
		return false
	}
	k.trouble("")
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.workers == nil {
		k.workers = map[string]*worker{}
	}
	k.list = make(map[string]Agent, len(agents))
	for _, a := range agents {
		k.list[a.AID] = a
		if w, there := k.workers[a.AID]; there && w.quit != nil {
			w.compare(a)
		} else if !there { // one that is being ended is begun anew by a later look
			w := newWorker(k, a)
			own, quit := context.WithCancel(ctx)
			w.quit = quit
			k.workers[a.AID] = w
			beside.Go(func() { w.run(own) })
		}
	}
	for aid, w := range k.workers {
		if _, known := k.list[aid]; !known && w.quit != nil {
			w.quit()
			w.quit = nil
		}
		if w.quit == nil && isClosed(w.done) {
			delete(k.workers, aid)
		}
	}
	return len(agents) > 0
}

// compare notes that what is registered is not what runs.
func (w *worker) compare(a Agent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stale && !w.agent.same(a) {
		w.stale = true
		w.news()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (k *Keeper) trouble(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if what != "" && what != k.fault {
		k.Log.Error("the workers to keep cannot be told", "error", what)
	}
	k.fault = what
}

// wanted is what is registered of an agent now.
func (k *Keeper) wanted(aid string) (Agent, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, ok := k.list[aid]
	return a, ok
}

func (k *Keeper) find(aid string) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.workers[aid]
}

// Health is what /healthz shows of one worker.
type Health struct {
	Agent   string    `json:"agent"`
	State   string    `json:"state"`
	Since   time.Time `json:"since"`
	Why     string    `json:"why,omitempty"`
	Crashes int       `json:"crashes,omitempty"`
}

// State implements serve.Side.
func (k *Keeper) State() any {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := []Health{}
	for _, w := range k.workers {
		w.mu.Lock()
		list = append(list, Health{w.agent.Name, string(w.state), w.since.UTC(), w.why, w.crashes})
		w.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Health) int { return strings.Compare(a.Agent, b.Agent) })
	return list
}

// Kind returns notify.KindACP.
func (k *Keeper) Kind() string { return notify.KindACP }

// LooksItself: what a worker does now is known here better than from presence.
func (k *Keeper) LooksItself() {}

// Check looks at the arguments.
func (k *Keeper) Check(args []string) ([]string, error) { return notify.ACP{}.Check(args) }

// Notify implements notify.Adapter. What is said to the agent is put into words
// here, whoever asks.
func (k *Keeper) Notify(ctx context.Context, agent notify.Agent, p notify.Pointer) (notify.Outcome, error) {
	if err := p.Check(); err != nil {
		return notify.Fail(notify.KindACP, agent, err.Error(), "")
	}
	w := k.find(agent.AID)
	if w == nil {
		return notify.Outcome{State: notify.Pending, Evidence: "acp: postd serve does not keep its worker yet; it looks every moment"}, nil
	}
	a, _ := w.now()
	if p.Agent != a.Name {
		return notify.Fail(notify.KindACP, agent, "the pointer is for another name than "+a.Name, "")
	}
	p.Office, p.OfficeID = k.Office, k.OfficeID
	return w.notify(ctx, notify.Worded(p, k.Program))
}

var _ interface {
	notify.Adapter
	notify.Checker
	notify.Watcher
} = (*Keeper)(nil)

// gone is said where nobody keeps the worker.
func gone(agent string) notify.Outcome {
	return notify.Outcome{State: notify.Pending, Evidence: "acp: no postd serve runs for this office, and it keeps the worker of " +
		mail.Neutralise(clip(agent, 70), false) + "; start it: post serve"}
}
