package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// retryWorkers is how many agents one pass wakes at the same time, so that one
// that hangs does not use up the time of all.
const retryWorkers = 4

// Status is what is known about waking one agent, for people.
type Status struct {
	PendingSince time.Time // zero if no wake is owed
	LastAttempt  time.Time
	NextTry      time.Time // zero: not before new mail comes
	Tries        int       // attempts in a row that did not get through
	Last         Outcome
	Torn         string // why the state could not be read; "" if it could
}

// Status reads an agent's wake state; ok is false if there is none.
func (a *Arbiter) Status(agent Agent) (s Status, ok bool, err error) {
	if !validAID(agent.AID) {
		return Status{}, false, nil
	}
	w, torn, err := store{a.FS}.load(agent.AID)
	if err != nil {
		return Status{}, false, storeError(agent.Name, err)
	}
	s = Status{w.PendingSince, w.LastAttempt, w.NextTry, w.Tries, w.Last, torn}
	return s, torn != "" || w.V != 0, nil
}

// Retry wakes those of the recipients whose next try is due: failed attempts,
// mail that came while somebody was at it, reminders. Agents for whom nothing
// is owed cost nothing but a look at one directory. It returns the number of
// agents looked at; attempts go to Record.
func (a *Arbiter) Retry(ctx context.Context, rs []Recipient, now time.Time) (int, error) {
	due, err := a.due(rs, now)
	if err != nil {
		return 0, err
	}
	return len(due), a.all(ctx, due, now)
}

// Sweep looks into every recipient's inbox, also of those for whom nothing is
// known to be owed: for a pass after a crash, which may have come between
// delivery and wake.
func (a *Arbiter) Sweep(ctx context.Context, rs []Recipient, now time.Time) error {
	return a.all(ctx, rs, now)
}

// due picks the recipients whose turn has come, the longest overdue first.
func (a *Arbiter) due(rs []Recipient, now time.Time) ([]Recipient, error) {
	s := store{a.FS}
	open, err := s.open()
	if err != nil {
		return nil, storeError("", err)
	}
	type turn struct {
		r  Recipient
		at time.Time
	}
	var turns []turn
	for _, r := range rs {
		marked, ok := open[r.Agent.AID]
		if !ok || r.Agent.Kind() == KindNone {
			continue
		}
		w, torn, err := s.load(r.Agent.AID)
		switch {
		case marked || err != nil || torn != "":
			turns = append(turns, turn{r, time.Time{}})
		case !w.NextTry.IsZero():
			w.steady(now)
			if !now.Before(w.NextTry) {
				turns = append(turns, turn{r, w.NextTry})
			}
		}
	}
	slices.SortStableFunc(turns, func(x, y turn) int { return x.at.Compare(y.at) })
	due := make([]Recipient, len(turns))
	for i, t := range turns {
		due[i] = t.r
	}
	return due, nil
}

// all wakes several agents; what ctx leaves no time for stays due.
func (a *Arbiter) all(ctx context.Context, rs []Recipient, now time.Time) error {
	next := make(chan Recipient)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range min(retryWorkers, len(rs)) {
		wg.Go(func() {
			for r := range next {
				if _, err := a.Wake(ctx, r.Agent, r.Unread, now); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, r := range rs {
		if ctx.Err() != nil {
			break
		}
		next <- r
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}
