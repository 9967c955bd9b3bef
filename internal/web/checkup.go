package web

import (
	"context"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/doctor"
)

// checkup is what the doctor found last. The doctor looks in the background, for
// all browsers together, and never twice at once.
type checkup struct {
	mu      sync.Mutex
	last    *finding
	running bool
	stop    context.CancelFunc
	done    chan struct{}
}

// finding is what one look found.
type finding struct {
	At       time.Time
	Took     time.Duration
	Findings []doctor.Finding
	Disk     diskUse
	Free     string // room left on the disk, "" if unknown
	Cut      bool   // it ended before it had seen everything
}

const (
	// freshFor is how long what the doctor found needs no second look.
	freshFor = 5 * time.Minute
	// checkupMost bounds one look.
	checkupMost = 3 * time.Minute
)

// get returns what was found last, nil if nothing yet, and whether the doctor is
// looking.
func (c *checkup) get() (last *finding, running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.running
}

// begin has the doctor look, unless he does; then is called when he has.
func (c *checkup) begin(look func(ctx context.Context) finding, then func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), checkupMost)
	done := make(chan struct{})
	c.running, c.stop, c.done = true, stop, done
	go func() {
		defer close(done)
		defer stop()
		f := look(ctx)
		f.Cut = ctx.Err() != nil
		c.mu.Lock()
		c.last, c.running = &f, false
		c.mu.Unlock()
		then()
	}()
}

// end stops the look under way and waits for it.
func (c *checkup) end() {
	c.mu.Lock()
	stop, done := c.stop, c.done
	c.mu.Unlock()
	if stop != nil {
		stop()
		<-done
	}
}
