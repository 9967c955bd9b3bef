package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
)

// life is one agent's mail over a day or so, and what was announced of it.
type life struct {
	*desk
	now       time.Time
	next      int
	announced map[mail.ID]time.Time // last time
	reminders int                   // since the last new announcement
	last      time.Time             // last attempt
	lastState State
	vain      map[mail.ID]bool // what attempts that did not get through were for, while it is unread
	streak    int              // announcements since something announced was read
	faults    []string
}

func newLife() *life {
	l := &life{desk: newDesk(memory()), now: t0, announced: map[mail.ID]time.Time{}}
	l.Record = func(a Attempt) {
		if fault := l.check(a); fault != "" {
			l.faults = append(l.faults, fault)
		}
	}
	return l
}

// check holds every attempt against the budget.
func (l *life) check(a Attempt) string {
	since := l.now.Sub(l.last)
	switch {
	case a.Count == 0:
		return "a wake for nothing"
	case !l.lastState.Settled() && l.lastState != "" && since < retries[0]:
		return fmt.Sprintf("tried again %v after %s", since, l.lastState)
	case l.streak >= patience && since < gap && l.lastState.Settled():
		return fmt.Sprintf("wake %d in a row, %v after the last, nothing read", l.streak+1, since)
	}
	for _, id := range a.IDs {
		if !slices.Contains(l.box.unread, id) {
			return fmt.Sprintf("%s is not unread", id)
		}
		if at, ok := l.announced[id]; ok && (!a.Reminder || l.now.Sub(at) < gap) {
			return fmt.Sprintf("%s announced again after %v, reminder %t", id, l.now.Sub(at), a.Reminder)
		}
	}
	l.last, l.lastState = l.now, a.Outcome.State
	if l.vain == nil || l.lastState.Settled() {
		l.vain = map[mail.ID]bool{}
	}
	for _, id := range a.IDs {
		if !l.lastState.Settled() {
			l.vain[id] = true
		}
	}
	if a.Outcome.State != Notified {
		return ""
	}
	l.streak++
	if l.reminders++; !a.Reminder {
		l.reminders = 0
	}
	if l.reminders > len(reminders)+23 {
		return fmt.Sprintf("%d reminders", l.reminders)
	}
	for _, id := range a.IDs {
		l.announced[id] = l.now
	}
	return ""
}

func (l *life) arrive() {
	l.next++
	l.box.add(id(l.next))
}

func (l *life) read(keep func(int) bool) {
	var left []mail.ID
	for i, id := range l.box.unread {
		if keep(i) {
			left = append(left, id)
			continue
		}
		delete(l.vain, id)
		if _, told := l.announced[id]; told {
			l.streak = 0
		}
	}
	if l.box.unread = left; len(l.vain) == 0 {
		l.lastState = "" // who has read all that was tried may be woken at once
	}
}

func (l *life) retry(t *rapid.T) {
	if _, err := l.Retry(context.Background(), l.recipients(), l.now); err != nil {
		t.Fatal(err)
	}
}

// Any sequence of arrivals, reads, failures and passes keeps the budget, and
// leaves no unread mail unannounced for ever.
func TestAnyLifeKeepsTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLife()
		t.Repeat(map[string]func(*rapid.T){
			"arrives": func(t *rapid.T) {
				l.arrive()
				out, err := l.wake(l.now)
				if err != nil {
					t.Fatal(err)
				}
				_, told := l.announced[id(l.next)]
				if out.State == Notified && !told {
					t.Fatalf("notified, but this mail was not announced: %+v", out)
				}
			},
			"arrives, then the router dies": func(*rapid.T) { l.arrive() },
			"reads all":                     func(*rapid.T) { l.read(func(int) bool { return false }) },
			"reads some": func(t *rapid.T) {
				mask := rapid.Uint8().Draw(t, "mask")
				l.read(func(i int) bool { return mask>>(i%8)&1 == 1 })
			},
			"adapter changes": func(t *rapid.T) {
				l.fake.state = rapid.SampledFrom([]State{Notified, Failed, Held, Pending}).Draw(t, "state")
				l.fake.err = nil
				if l.fake.state == Failed {
					l.fake.err = errors.New("no session")
				}
			},
			"time passes": func(t *rapid.T) {
				l.now = l.now.Add(time.Duration(rapid.SampledFrom([]int{1, 3, 10, 60, 300, 3600, 40000}).Draw(t, "seconds")) * time.Second)
			},
			"pass":  l.retry,
			"sweep": l.sweep,
			"": func(t *rapid.T) {
				if len(l.faults) > 0 {
					t.Fatal(l.faults)
				}
			},
		})
		l.settleDown(t)
	})
}

func (l *life) sweep(t *rapid.T) {
	if err := l.Sweep(context.Background(), l.recipients(), l.now); err != nil {
		t.Fatal(err)
	}
}

// settleDown lets the adapter work again and passes run: all must be told.
func (l *life) settleDown(t *rapid.T) {
	l.fake.state, l.fake.err = Notified, nil
	l.sweep(t)
	for range 61 {
		l.now = l.now.Add(time.Minute)
		l.retry(t)
	}
	if len(l.faults) > 0 {
		t.Fatal(l.faults)
	}
	for _, id := range l.box.unread {
		if _, told := l.announced[id]; !told {
			t.Fatalf("%s was never announced", id)
		}
	}
}
