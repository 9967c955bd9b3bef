package serve

import (
	"context"
	"log/slog"
	"sync"

	"github.com/postroom/postroom/internal/dispatch"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/registry"
)

// wakes runs wakes beside the passes: at most one an agent, and one round of
// retries. Mail that comes for an agent whose wake is under way has it woken
// once more.
type wakes struct {
	log *slog.Logger
	// evidence says that an attempt waits to be journalled.
	evidence chan struct{}

	wg       sync.WaitGroup
	mu       sync.Mutex
	busy     map[string]bool // by aid: under way; true: once more
	anew     map[string]bool // by aid: the next time, also what was announced before
	retrying bool
	reaching bool // the person is being told
	more     bool // once more
}

func newWakes(log *slog.Logger) *wakes {
	return &wakes{log: log, evidence: make(chan struct{}, 1), busy: map[string]bool{}, anew: map[string]bool{}}
}

// wake wakes one agent and returns at once. The attempt is given its full time
// even when ctx ends, but it is not followed by another. again announces what was
// announced before, too.
func (w *wakes) wake(ctx context.Context, d *dispatch.Dispatcher, e registry.Entry, again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if again {
		w.anew[e.AID] = true
	}
	if _, under := w.busy[e.AID]; under {
		w.busy[e.AID] = true
		return
	}
	w.busy[e.AID] = false
	w.wg.Go(func() {
		for {
			if w.wholly(e.AID) {
				w.logWoken(d.Renotify(context.WithoutCancel(ctx), e))
			}
			for _, woken := range d.WakeUnrecorded(context.WithoutCancel(ctx), []registry.Entry{e}) {
				w.logWoken(woken)
			}
			w.again()
			if !w.another(e.AID) || ctx.Err() != nil {
				return
			}
		}
	})
}

// wholly reports, once, whether an agent is to be told of everything anew.
func (w *wakes) wholly(aid string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	anew := w.anew[aid]
	delete(w.anew, aid)
	return anew
}

// another ends an agent's turn, or says that there is another.
func (w *wakes) another(aid string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[aid] {
		w.busy[aid] = false
		return true
	}
	delete(w.busy, aid)
	return false
}

// retry wakes whoever is due, unless that is under way.
func (w *wakes) retry(ctx context.Context, d *dispatch.Dispatcher, sweep bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retrying {
		return
	}
	w.retrying = true
	w.wg.Go(func() {
		if err := d.Retry(ctx, sweep); err != nil && ctx.Err() == nil {
			w.log.Warn("a wake failed", "error", err.Error())
		}
		w.mu.Lock()
		w.retrying = false
		w.mu.Unlock()
		w.again()
	})
}

// reach tells the person what is due, beside the passes, one after the other.
func (w *wakes) reach(ctx context.Context, d *dispatch.Dispatcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reaching {
		w.more = true
		return
	}
	w.reaching = true
	w.wg.Go(func() {
		for more := true; more && ctx.Err() == nil; {
			if err := d.Reach(ctx); err != nil && ctx.Err() == nil {
				w.log.Warn("the person could not be told", "error", err.Error())
			}
			w.mu.Lock()
			more, w.more = w.more, false
			w.reaching = more
			w.mu.Unlock()
		}
		w.again()
	})
}

// again asks the loop to journal what was attempted.
func (w *wakes) again() {
	select {
	case w.evidence <- struct{}{}:
	default:
	}
}

// under counts the wakes under way.
func (w *wakes) under() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.busy)
}

// finish waits for what is under way; each has its budget (dispatch.Budget).
func (w *wakes) finish() { w.wg.Wait() }

func (w *wakes) logWoken(woken dispatch.Woken) {
	args := []any{"agent", woken.Agent, "adapter", woken.Kind, "state", string(woken.Outcome.State), "evidence", woken.Outcome.Evidence}
	switch {
	case woken.Err == nil && woken.Outcome.State == notify.NotNeeded:
		return
	case woken.Surfaced():
		w.log.Info("woken", args...)
		return
	}
	w.log.Warn("not woken", args...)
}
