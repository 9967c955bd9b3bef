package serve

import (
	"time"

	"github.com/postroom/postroom/internal/router"
)

// maxTags is how many outboxes are worth a pass each; more are one pass over
// all.
const maxTags = 4

// todo is what the next passes have to look at.
type todo struct {
	all  bool
	tags map[string]bool
}

func (t *todo) add(tag string) {
	if tag == "" || len(t.tags) >= maxTags && !t.tags[tag] {
		t.all = true
		return
	}
	if t.tags == nil {
		t.tags = map[string]bool{}
	}
	t.tags[tag] = true
}

func (t *todo) empty() bool { return !t.all && len(t.tags) == 0 }

// next takes out what one pass looks at.
func (t *todo) next() router.Options {
	if t.all {
		t.all, t.tags = false, nil
		return router.Options{All: true}
	}
	for tag := range t.tags {
		delete(t.tags, tag)
		return router.Options{Own: tag}
	}
	return router.Options{}
}

// back puts it in again: the pass did not take place, or not as it should.
func (t *todo) back(opt router.Options) {
	if opt.All {
		t.all = true
		return
	}
	t.add(opt.Own)
}

// pace says when the next pass may begin.
type pace struct {
	failures int       // in a row
	busy     time.Time // since when somebody else holds the lease
	tries    int       // for the lease
	idle     int       // passes in a row, close together, that found nothing
	ran      time.Time // when the last pass ended
	moved    int       // messages it moved
	from     time.Time
}

const (
	busyPause = 2 * time.Millisecond
	busyMax   = 50 * time.Millisecond
	failPause = 100 * time.Millisecond
	failMax   = 5 * time.Second
	idlePause = 5 * time.Millisecond
	idleMax   = 500 * time.Millisecond
)

// doubled is first, doubled n times, at most limit.
func doubled(first time.Duration, n int, limit time.Duration) time.Duration {
	for ; n > 0 && first < limit; n-- {
		first *= 2
	}
	return min(first, limit)
}

// taken: somebody else routes.
func (p *pace) taken(now time.Time) {
	if p.busy.IsZero() {
		p.busy = now
	}
	p.from = now.Add(doubled(busyPause, p.tries, busyMax))
	p.tries++
}

// failed: something is wrong with the office.
func (p *pace) failed(now time.Time) {
	p.free()
	p.from = now.Add(doubled(failPause, p.failures, failMax))
	p.failures++
}

// done: a pass ran. Events that bring nothing, from whoever touches files in an
// outbox, make the next pass wait longer and longer; the first few do not.
func (p *pace) done(now time.Time, moved int) {
	p.free()
	p.failures = 0
	if moved > 0 || now.Sub(p.ran) > 2*idleMax {
		p.idle = 0
	} else {
		p.idle++
	}
	p.from, p.ran, p.moved = now, now, moved
	if p.idle > 4 {
		p.from = now.Add(doubled(idlePause, p.idle-4, idleMax))
	}
}

// Under load a pass lingers, so that what trails is done for many messages
// together. Without load it does not: wakes come after the pass.
const (
	load     = 8 // messages in the last pass
	lingers  = 8 * time.Millisecond
	loadLast = 100 * time.Millisecond
)

func (p *pace) linger(now time.Time) time.Duration {
	if p.moved >= load && now.Sub(p.ran) < loadLast {
		return lingers
	}
	return 0
}

func (p *pace) free() { p.busy, p.tries = time.Time{}, 0 }
