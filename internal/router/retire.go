package router

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/spool"
)

// retire takes finished messages out of the outboxes: to .sent, or to .failed
// if they bounced as a whole. Everything about them is durable by now, so an
// outbox that can't be tidied delays its owner's tidiness and nothing else.
//
// The outbox itself is not synced: an entry that a crash brings back is known,
// and goes again.
func (p *pass) retire(jobs []*job) error {
	for _, j := range jobs {
		var err error
		switch {
		case j.deferred:
			continue
		case j.bouncedWhole():
			_, err = j.author.Box.Fail(j.draft, j.why(p.now))
		default:
			if err = j.archiveErr; err == nil {
				err = j.archived.Err
			}
			if err == nil {
				err = j.author.Box.Unlink(j.msg.ID)
			}
		}
		j.retired = err == nil
		p.unretired(j, err)
	}
	return nil
}

// archive gives finished messages their place in .sent, to be made durable
// together with the records: the outbox entry, which is what counts after a
// crash, goes last.
func (p *pass) archive(jobs []*job) {
	for _, j := range jobs {
		if j.deferred || j.bouncedWhole() {
			continue
		}
		if j.archiveErr = j.author.Box.Retire(j.draft); j.archiveErr == nil {
			j.archived = p.batch.Dir(j.author.Box.FS, j.author.Box.Path(spool.Sent))
		}
	}
}

// unretired notes why a message is still in its outbox. If its owner took it
// away it is delivered all the same.
func (p *pass) unretired(j *job, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		if gone, gerr := spool.Exists(j.author.Box.FS, j.author.Box.Path(j.draft.Path())); gerr == nil && !gone {
			j.retired = true
			return
		}
	}
	p.problem("retire "+string(j.msg.ID), "outbox of "+j.author.Name, err)
}

// bouncedWhole reports whether nobody has the message and nobody will.
func (j *job) bouncedWhole() bool {
	for _, b := range j.bounces {
		if b.Recipient == "" {
			return true
		}
	}
	return len(j.bounces) > 0 && !j.reached()
}

// reached reports whether the message is with anybody, now or since earlier.
func (j *job) reached() bool {
	if len(j.asks) > 0 || j.past != nil && (len(j.past.delivered) > 0 || j.past.asked != "") {
		return true
	}
	return slices.ContainsFunc(j.deliveries, func(d *delivery) bool { return d.err == nil })
}

func (j *job) why(now time.Time) spool.Why {
	return spool.Why{At: now, Reason: j.bounces[0].Reason, Hint: j.bounces[0].Hint}
}
