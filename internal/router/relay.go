package router

import (
	"context"
	"maps"
	"time"

	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	// enough bounds how much trailing work piles up before it is done.
	enough = 256
	// helping is what one outbox contributes to a look of a pass that lingers, so
	// that nobody's message waits long for the delivery of others'.
	helping = 16
	// lingerStep is how long a lingering pass waits before it looks again.
	lingerStep = 4 * time.Millisecond
)

// take brings what waits in the outboxes into the inboxes, and takes up each
// file once.
func (p *pass) take(authors []office.Author) []*job {
	defer vfs.Hold(p.o.FS)()
	p.late = nil
	found := p.plan(p.durable(p.collect(authors)))
	p.deliver(found)
	for _, j := range found {
		p.skipFile(j.author, j.draft.Path())
	}
	return found
}

// relay is the round of a pass that lingers: while what was delivered is
// recorded, more is delivered, so that no mail waits for the records of other
// mail. It ends when nothing more comes, or the pass has had its time.
//
// What runs beside the records is the delivery of stamped messages of agents and
// nothing else. Nothing is new on the disk: each message takes the same steps in
// the same order, and is where it would be in a pass that died between two.
func (p *pass) relay(ctx context.Context, authors []office.Author) (found int, err error) {
	var ahead []*job // delivered, not recorded yet
	var since time.Time
	var behind *trail
	for {
		over := ctx.Err() != nil || p.o.Sys.Now().Sub(p.now) > passBudget
		var fresh []*job
		if p.share = helping; !over && len(ahead) < enough {
			p.beside = behind != nil
			fresh = p.take(authors)
		}
		if len(ahead) == 0 {
			since = time.Now()
		}
		ahead, found = append(ahead, fresh...), found+len(fresh)
		switch {
		case behind != nil && (over || behind.ended()):
			if err := behind.join(p); err != nil {
				return found, err
			}
			behind = nil // a look at everything follows, with nothing beside it
		case behind != nil:
			if len(fresh) == 0 {
				behind.wait(lingerStep)
			}
		case len(ahead) == 0 && (over || len(p.late) == 0):
			return found, nil
		case over || len(ahead) >= enough || time.Since(since) >= p.opt.Linger:
			behind, ahead = p.trail(ahead), nil
		case len(fresh) == 0:
			if len(ahead) == 0 {
				p.waits++
			}
			time.Sleep(lingerStep)
		}
	}
}

// trail is the trailing work of some jobs under way.
type trail struct {
	jobs []*job
	pass pass // what that work may use and change: its own batch and notes
	run  func()
	done chan struct{} // nil: not begun yet
	err  error
}

// trail begins to record what was delivered. Where syncs run one after the
// other, as in tests that count calls, it is done when it is joined: after the
// delivery that it would run beside.
func (p *pass) trail(jobs []*job) *trail {
	t := &trail{jobs: jobs, pass: *p}
	t.pass.batch, t.pass.problems = p.o.Sys.Batch(), map[string]error{}
	t.pass.touched, t.pass.wrote = false, false
	t.run = func() { t.err = t.pass.finish(jobs) }
	if p.o.Sys.Parallel > 1 {
		t.done = make(chan struct{})
		go func() {
			defer close(t.done)
			t.run()
		}()
	}
	return t
}

func (t *trail) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return t.done == nil
	}
}

func (t *trail) wait(most time.Duration) {
	select {
	case <-t.done:
	case <-time.After(most):
	}
}

// join waits for the end and takes over what the work has noted.
func (t *trail) join(p *pass) error {
	if t.done == nil {
		t.run()
	} else {
		<-t.done
	}
	p.touched, p.wrote = p.touched || t.pass.touched, p.wrote || t.pass.wrote
	for who, err := range maps.All(t.pass.problems) {
		p.problem("", who, err)
	}
	if t.err == nil {
		p.count(t.jobs)
		for _, j := range t.jobs {
			delete(p.recent, j.msg.ID) // the office has its copy
		}
	}
	return t.err
}
