package top

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is for how long further events are waited for once one came.
	settle = 30 * time.Millisecond
	// again is after which time all is looked at whatever the events say: ages
	// grow, processes end, events get lost.
	again = 5 * time.Second
	// blind is again's like for the journal where the system has no events.
	blind = 200 * time.Millisecond
	// passes is the time between two passes.
	passes = 2 * time.Second
)

// Watch calls show with the floor, and again whenever it is another one, until
// ctx ends, and moves mail meanwhile. An error of show ends it, too. A fault of
// ours is an error, so that the terminal is given back before it is told.
func (r *Room) Watch(ctx context.Context, show func(Floor) error) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer func() {
		stop(nil)
		beside.Wait() // a pass under way is finished
	}()
	beside.Go(func() {
		defer caught(stop)
		r.pass(ctx)
	})
	defer caught(func(cause error) { err = cause })
	e := newEyes(r)
	ears := listen()
	defer ears.close()
	for {
		ears.follow(e.places())
		err := show(e.look(ctx))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		e.stale(ears.wait(ctx))
	}
}

// caught makes a panic an error.
func caught(tell func(error)) {
	if p := recover(); p != nil {
		tell(fmt.Errorf("%v\n%s", p, debug.Stack()))
	}
}

// pass keeps mail moving.
func (r *Room) pass(ctx context.Context) {
	t := time.NewTicker(passes)
	defer t.Stop()
	for {
		r.Pass(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// ears hear that a directory has changed.
type ears struct {
	w     *fsnotify.Watcher // nil: the system has no events
	heard map[string]bool   // directories that are watched
	due   time.Time         // when everything is looked at again
}

func listen() *ears {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		w = nil
	}
	return &ears{w: w, heard: map[string]bool{}}
}

func (x *ears) close() {
	if x.w != nil {
		x.w.Close()
	}
}

// follow hears of these directories from now on. One that is not there yet, or
// can't be watched, is tried again the next time.
func (x *ears) follow(dirs []string) {
	if x.w == nil {
		return
	}
	keep := map[string]bool{}
	for _, d := range dirs {
		keep[d] = true
		if !x.heard[d] && x.w.Add(d) == nil {
			x.heard[d] = true
		}
	}
	for d := range x.heard {
		if !keep[d] {
			x.w.Remove(d)
			delete(x.heard, d)
		}
	}
}

// wait returns the directories in which something changed. all: it is time to
// look at everything.
func (x *ears) wait(ctx context.Context) (changed map[string]bool, all bool) {
	var events chan fsnotify.Event
	var errs chan error
	rest := min(blind, time.Until(x.due))
	if x.w != nil {
		events, errs, rest = x.w.Events, x.w.Errors, time.Until(x.due)
	}
	over := time.NewTimer(max(rest, 0))
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, false
		case e := <-events:
			if e.Op == fsnotify.Chmod {
				continue
			}
			if changed == nil {
				changed = map[string]bool{}
				over.Reset(settle)
			}
			changed[filepath.Dir(e.Name)] = true
			if x.heard[e.Name] && e.Has(fsnotify.Remove|fsnotify.Rename) { // the directory itself is gone
				delete(x.heard, e.Name)
			}
		case <-errs: // some events were lost
			x.due = time.Time{}
			over.Reset(settle)
		case now := <-over.C:
			if all = !now.Before(x.due); all {
				x.due = now.Add(again)
			}
			return changed, all
		}
	}
}
