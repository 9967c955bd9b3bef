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
func (p *pass) retire(jobs []*job) error {
	sent := map[*job]*spool.Ticket{}
	for _, j := range jobs {
		var err error
		switch {
		case j.deferred:
			continue
		case j.bouncedWhole():
			_, err = j.author.Box.Fail(j.draft, j.why(p.now))
			j.retired = err == nil
		default:
			if err = j.author.Box.Retire(j.draft); err == nil {
				sent[j] = p.batch.Dir(j.author.Box.FS, j.author.Box.Path(spool.Sent))
			}
		}
		p.unretired(j, err)
	}
	p.batch.Flush() // each ticket keeps its own error
	unlinked := map[*job]*spool.Ticket{}
	for _, j := range jobs {
		t := sent[j]
		if t == nil {
			continue
		}
		err := t.Err
		if err == nil {
			err = j.author.Box.Unlink(j.msg.ID)
		}
		if err == nil {
			unlinked[j] = p.batch.Dir(j.author.Box.FS, j.author.Box.Path(spool.Outbox))
		}
		p.unretired(j, err)
	}
	p.batch.Flush()
	for j, t := range unlinked {
		j.retired = true // gone from the directory; a crash that brings it back costs a look
		p.problem("sync outbox", j.author.Name, t.Err)
	}
	return nil
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
