package router

import (
	"errors"
	"io/fs"

	"github.com/postroom/postroom/internal/spool"
)

// retire takes finished messages out of the outboxes: to .sent, or to .failed
// if they bounced as a whole. Everything about them is durable by now.
func (p *pass) retire(jobs []*job) error {
	var sent []*job
	for _, j := range jobs {
		switch {
		case j.deferred:
		case j.bouncedWhole():
			if err := p.failJob(j); err != nil {
				return err
			}
			j.retired = true
		default:
			if err := j.author.Box.Retire(j.draft); err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					j.retired = true // its owner took it away: it was delivered all the same
					continue
				}
				return err
			}
			p.batch.Dir(j.author.Box.FS, j.author.Box.Path(spool.Sent))
			sent = append(sent, j)
		}
	}
	if err := p.batch.Flush(); err != nil {
		return err
	}
	for _, j := range sent {
		if err := j.author.Box.Unlink(j.msg.ID); err != nil {
			return err
		}
		j.retired = true
		p.batch.Dir(j.author.Box.FS, j.author.Box.Path(spool.Outbox))
	}
	return p.batch.Flush()
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
