package web

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/search"
)

const (
	// findPatience is how long a page waits for what is new to be read.
	findPatience = 300 * time.Millisecond
	// findIdle is how many open indexes are kept for the next pages, and for how
	// long.
	findIdle     = 2
	findIdleTime = time.Minute
)

// finder is the search index as pages ask it. It is read on behind them, by one at
// a time, and a page waits for that a moment only. The zero finder is ready.
type finder struct {
	mu      sync.Mutex
	reading chan struct{} // closed when the reading on that is under way has ended; nil if none is
	err     error         // how the last one ended
	state   indexed
	path    string // the file that was read on last
	idle    []*search.Index
	drop    *time.Timer
	closed  bool
	wait    time.Duration // findPatience, if 0
	stop    context.CancelFunc
}

// indexed is how far the index is, for a page to say.
type indexed struct {
	Percent int  // how much of what is new is read
	Late    bool // what came last is still being read
	Missing int  // messages without a sound copy
	Damaged bool // the journal has a line that cannot be read
	Rebuilt string
}

// errNotWhole says that the index is being built: there is nothing to ask yet.
var errNotWhole = errors.New("the index is being built")

// indexBroken is that the index itself cannot be used, whatever is asked.
type indexBroken struct{ error }

func (e indexBroken) Unwrap() error { return e.error }

// ask asks the index. fn is not called, and the error is errNotWhole, while the
// index is built for the first time.
func (s *Site) ask(ctx context.Context, d *cli.Desk, fn func(*search.Index) error) (indexed, error) {
	f := &s.behind.finder
	state, err := f.current(ctx, d, search.Dir(s.Env.User().Dir, d.Office))
	if err != nil {
		return state, err
	}
	x, err := f.take(ctx, d, search.Dir(s.Env.User().Dir, d.Office))
	if err != nil {
		return state, indexBroken{err}
	}
	switch whole, werr := x.Whole(ctx); {
	case werr != nil:
		err = indexBroken{werr}
	case !whole:
		err = errNotWhole
	default:
		err = fn(x)
	}
	f.giveBack(x, err)
	return state, err
}

// current has the index read on, waits a moment for it and says how far it is.
func (f *finder) current(ctx context.Context, d *cli.Desk, dir string) (indexed, error) {
	done := f.start(d, dir)
	wait := time.NewTimer(cmp.Or(f.wait, findPatience))
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	case <-ctx.Done():
		return indexed{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.state
	state.Late = f.reading != nil
	if f.reading == nil && f.err != nil {
		return state, indexBroken{f.err}
	}
	return state, nil
}

// start begins to read the index on, unless somebody does.
func (f *finder) start(d *cli.Desk, dir string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reading != nil || f.closed {
		return f.reading
	}
	f.reading = make(chan struct{})
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	go func() {
		err := f.readOn(ctx, d, dir)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stop()
		f.err = err
		close(f.reading)
		f.reading = nil
	}()
	return f.reading
}

func (f *finder) readOn(ctx context.Context, d *cli.Desk, dir string) error {
	f.mu.Lock()
	f.state.Percent = 0
	f.mu.Unlock()
	x, err := f.take(ctx, d, dir)
	if err != nil {
		return err
	}
	x.Progress = func(done, total int64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.state.Percent = int(100 * done / max(total, 1))
	}
	taken, err := x.Update(ctx)
	x.Progress = nil
	if err == nil {
		f.mu.Lock()
		f.path = x.Path()
		f.state.Missing, f.state.Damaged = taken.Missing, taken.Damaged
		if why := x.Rebuilt(); why != "" {
			f.state.Rebuilt = why
		}
		f.mu.Unlock()
	}
	f.giveBack(x, err)
	return err
}

// take returns an index for one goroutine to use.
func (f *finder) take(ctx context.Context, d *cli.Desk, dir string) (*search.Index, error) {
	f.mu.Lock()
	for len(f.idle) > 0 {
		x := f.idle[len(f.idle)-1]
		f.idle = f.idle[:len(f.idle)-1]
		if x.Path() == f.path {
			f.mu.Unlock()
			x.Office, x.Registry = d.Office, d.Registry
			return x, nil
		}
		x.Close() // it was begun anew under another name
	}
	f.mu.Unlock()
	return search.Open(ctx, dir, d.Office, d.Registry)
}

// giveBack keeps an index for the next page.
func (f *finder) giveBack(x *search.Index, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || f.closed || len(f.idle) >= findIdle {
		x.Close()
		return
	}
	f.idle = append(f.idle, x)
	if f.drop != nil {
		f.drop.Stop()
	}
	f.drop = time.AfterFunc(findIdleTime, f.dropIdle)
}

func (f *finder) dropIdle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.idle {
		x.Close()
	}
	f.idle = nil
}

// close ends the reading on and closes what is open.
func (f *finder) close() {
	f.mu.Lock()
	f.closed = true
	reading := f.reading
	if reading != nil {
		f.stop()
	}
	f.mu.Unlock()
	if reading != nil {
		<-reading
	}
	f.dropIdle()
}
