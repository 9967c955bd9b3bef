package router

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/spool"
)

// archive gives finished messages their place in .sent. It is made durable
// together with the records, before the transcript is: the outbox entry, which
// is what counts after a crash, goes last.
func (p *pass) archive(jobs []*job) error {
	for _, j := range jobs {
		if j.deferred || j.bouncedWhole() {
			continue
		}
		err := j.author.Box.Retire(j.msg.ID)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its owner took it away: it was delivered all the same
		}
		if err != nil {
			return err
		}
		p.batch.Dir(j.author.Box.FS, j.author.Box.Path(spool.Sent))
	}
	return nil
}

// retire takes finished messages out of the outboxes, those that bounced as a
// whole to .failed. Everything about them is durable by now. The outbox itself
// is not synced: an entry that a crash brings back is known and goes again.
func (p *pass) retire(jobs []*job) error {
	for _, j := range jobs {
		var err error
		switch {
		case j.deferred:
			continue
		case j.bouncedWhole():
			err = p.failJob(j)
		default:
			err = j.author.Box.Unlink(j.msg.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *job) bouncedWhole() bool {
	for _, b := range j.bounces {
		if b.Recipient == "" {
			return true
		}
	}
	return len(j.bounces) > 0 && len(j.deliveries) == 1 && len(j.asks) == 0 && j.deliveries[0].err != nil
}

func (p *pass) failJob(j *job) error {
	b := j.bounces[0]
	_, err := j.author.Box.Fail(j.draft, spool.Why{At: p.now, Reason: b.Reason, Hint: b.Hint})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
