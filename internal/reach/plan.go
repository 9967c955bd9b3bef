package reach

import (
	"slices"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/policy"
)

// A burst of approvals is not a burst of notices: after burst of them within
// burstSpan, what comes is held until the span is over, and is then one.
const (
	burst     = 3
	burstSpan = time.Minute
)

// stage is which of the two notices an approval is due for.
type stage string

const (
	first  stage = "notice"
	second stage = "reminder"
)

// due is one approval that the person is to be told of now.
type due struct {
	approval *approval.Approval
	stage    stage
}

// retryAfter is how long after the n-th failure the next try comes.
func retryAfter(n int) time.Duration {
	pauses := []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}
	return pauses[min(max(n, 1), len(pauses))-1]
}

// longestRetry is the longest of those pauses: what lies further ahead was set by
// a clock that ran ahead.
const longestRetry = time.Hour

// due lists what the person is to be told of at now, quiet hours aside. remind is
// how long after the notice the reminder comes; 0 is never.
func (b *book) due(open []approval.Approval, remind time.Duration, now time.Time) []due {
	var out []due
	for i := range open {
		a := &open[i]
		if a.Broken != nil || a.ExpiredAt(now) {
			continue
		}
		if s, ok := b.Asked[a.ID].next(a.Kind, remind, now); ok {
			out = append(out, due{a, s})
		}
	}
	if len(b.lately(now)) >= burst {
		return nil
	}
	return out
}

// next is the stage that an approval is due for at now.
func (e *entry) next(kind policy.AskKind, remind time.Duration, now time.Time) (stage, bool) {
	switch {
	case e == nil || e.Notice == nil:
		return first, true
	case open(e.Notice):
		return first, e.retry(now)
	case remind <= 0 || kind == policy.Notice: // closed by reading: nobody waits for it
		return "", false
	case e.Reminder == nil:
		return second, !now.Before(e.Notice.At.Add(remind))
	case open(e.Reminder):
		return second, e.retry(now)
	}
	return "", false
}

// open reports whether an attempt has to be made again. One that was cut off has
// not: whether it got through is not known, and twice is worse than late.
func open(t *told) bool { return t.State != notify.Notified && t.State != trying }

func (e *entry) retry(now time.Time) bool {
	return !now.Before(e.NextTry) || e.NextTry.Sub(now) > longestRetry
}

// lately lists when the person was told in the last burstSpan.
func (b *book) lately(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(b.Lately), func(t time.Time) bool {
		return now.Sub(t) >= burstSpan || t.After(now)
	})
}

// prune drops what is on record about approvals that are open no more, and takes
// back times that lie ahead because the clock was set back.
func (b *book) prune(open []approval.Approval, now time.Time) (changed bool) {
	is := map[string]bool{}
	for i := range open {
		is[open[i].ID] = true
	}
	for id, e := range b.Asked {
		if !is[id] {
			delete(b.Asked, id)
			changed = true
			continue
		}
		for _, t := range []*told{e.Notice, e.Reminder} {
			if t != nil && t.At.After(now) {
				t.At, changed = now, true
			}
		}
	}
	return changed
}

// begin puts attempts on record before they are made.
func (b *book) begin(list []due, now time.Time) {
	b.Lately = append(b.lately(now), now)
	for _, d := range list {
		e := b.Asked[d.approval.ID]
		if e == nil {
			e = &entry{}
			b.Asked[d.approval.ID] = e
		}
		*e.at(d.stage) = &told{At: now, State: trying}
	}
}

// end puts on record what became of them.
func (b *book) end(list []due, out notify.Outcome, now time.Time) {
	for _, d := range list {
		e := b.Asked[d.approval.ID]
		t := *e.at(d.stage)
		t.State, t.Evidence = out.State, out.Evidence
		if out.State == notify.Notified {
			e.Tries, e.NextTry = 0, time.Time{}
			continue
		}
		e.Tries++
		e.NextTry = now.Add(retryAfter(e.Tries))
	}
}

func (e *entry) at(s stage) **told {
	if s == second {
		return &e.Reminder
	}
	return &e.Notice
}
