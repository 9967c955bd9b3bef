package notify

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/presence"
)

// Forty messages in a second to an idle agent are one wake: what its hooks
// show with it is settled, and the rest is told in one more.
func TestFortyInASecond(t *testing.T) {
	t.Parallel()
	for _, hooks := range []bool{true, false} {
		d := newDesk(memory())
		now := t0
		for n := range 40 {
			d.box.add(id(n))
			if hooks && n == 30 { // the woken turn began
				d.box.surfaced = ids(0, 30)
			}
			out, err := d.wake(now)
			if err != nil || out.State == Failed {
				t.Fatalf("message %d: %+v, %v", n, out, err)
			}
			now = now.Add(25 * time.Millisecond)
		}
		if len(d.fake.got) != 1 {
			t.Fatalf("hooks %t: %d wakes within the second", hooks, len(d.fake.got))
		}
		if hooks {
			d.box.surfaced = ids(0, 40)
		}
		for range 30 {
			now = now.Add(100 * time.Millisecond)
			if _, err := d.Retry(context.Background(), d.recipients(), now); err != nil {
				t.Fatal(err)
			}
		}
		want := 2
		if hooks {
			want = 1
		}
		if len(d.fake.got) != want {
			t.Fatalf("hooks %t: %d wakes, want %d", hooks, len(d.fake.got), want)
		}
		out, err := d.wake(now)
		if out.State != Notified || err != nil {
			t.Errorf("hooks %t: %+v, %v", hooks, out, err)
		}
	}
}

// A wake that the session did not answer yet, such as one in Codex's queue, is
// the only one under way; when it answered, or after a while, there is another.
func TestOneWakeUnderWay(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	s := &presence.Session{Runtime: "codex", ID: "s", State: presence.Idle, At: t0.Add(-time.Hour)}
	d.Session = func(Agent) *presence.Session { return s }
	d.box.add(id(0))
	out, err := d.wake(t0)
	d.want(t, out, err, Notified, 1)
	for n := 1; n < 30; n++ {
		d.box.add(id(n))
		out, err = d.wake(t0.Add(time.Duration(n) * time.Second))
		d.want(t, out, err, Pending, 1)
	}
	awake := *s
	awake.At = t0.Add(30 * time.Second)
	s = &awake
	out, err = d.wake(t0.Add(31 * time.Second))
	d.want(t, out, err, Notified, 2)
	d.box.add(id(31))
	s.At = t0
	out, err = d.wake(t0.Add(80 * time.Second))
	d.want(t, out, err, Pending, 2)
	out, err = d.wake(t0.Add(31*time.Second + gap))
	d.want(t, out, err, Notified, 3)
}

// A session that starts, or whose question is answered, has not to wait for the
// back-off of what failed before: nobody may be there to try again. One that
// still fails does.
func TestNoBackOffForSessionThatCameToItsPrompt(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	var s *presence.Session
	d.Session = func(Agent) *presence.Session { return s }
	d.fake.state = Failed // no session
	d.box.add(id(0))
	out, err := d.wake(t0)
	d.want(t, out, err, Failed, 1)
	s = &presence.Session{Runtime: "codex", ID: "s", State: presence.Busy, Since: t0.Add(time.Second), At: t0.Add(time.Second)}
	d.box.surfaced = ids(0, 1)
	d.box.add(id(1))
	out, err = d.wake(t0.Add(2 * time.Second))
	d.want(t, out, err, Pending, 1)
	s.State, s.Since, s.At = presence.Idle, t0.Add(3*time.Second), t0.Add(3*time.Second)
	out, err = d.wake(t0.Add(3500 * time.Millisecond)) // fails again
	d.want(t, out, err, Failed, 2)
	d.box.add(id(2))
	out, err = d.wake(t0.Add(4 * time.Second))
	d.want(t, out, err, Pending, 2)
	d.fake.state, s.Since, s.At = Notified, t0.Add(5*time.Second), t0.Add(5*time.Second)
	d.box.add(id(3))
	out, err = d.wake(t0.Add(5500 * time.Millisecond))
	d.want(t, out, err, Notified, 3)
}

// Senders of a burst wait for a true answer: shown by the hooks, or announced
// with the second wake.
func TestPatientSenders(t *testing.T) {
	t.Parallel()
	for _, hooks := range []bool{true, false} {
		d := newDesk(memory())
		d.Patient, d.Budget = true, 20*time.Second
		start := time.Now()
		var wg sync.WaitGroup
		for n := range 12 {
			d.box.add(id(n))
			wg.Go(func() {
				if out, err := d.wake(t0.Add(time.Since(start))); out.State != Notified || err != nil {
					t.Errorf("hooks %t: %+v, %v", hooks, out, err)
				}
			})
			if hooks && n == 6 {
				time.AfterFunc(50*time.Millisecond, func() {
					d.box.mu.Lock()
					defer d.box.mu.Unlock()
					d.box.surfaced = append([]mail.ID(nil), d.box.unread...)
				})
			}
		}
		wg.Wait()
		if n := len(d.fake.got); n > 2 {
			t.Errorf("hooks %t: %d wakes", hooks, n)
		}
	}
}

// What its own session was shown needs no wake, also after failures, and it is
// reminded of like the rest.
func TestSurfacedIsNotAnnounced(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.fake.state = Held
	d.box.add(ids(0, 3)...)
	out, err := d.wake(t0)
	d.want(t, out, err, Held, 1)
	d.box.surfaced = ids(0, 3)
	out, err = d.wake(t0.Add(time.Second))
	d.want(t, out, err, Notified, 1)
	if !strings.Contains(out.Evidence, "shown") {
		t.Errorf("evidence %q", out.Evidence)
	}
	if n, _ := d.Retry(context.Background(), d.recipients(), t0.Add(30*time.Second)); n != 0 {
		t.Error("still owed")
	}
	d.fake.state = Notified
	if n, _ := d.Retry(context.Background(), d.recipients(), t0.Add(61*time.Second)); n != 1 || len(d.attempts) != 2 || !d.attempts[1].Reminder {
		t.Errorf("no reminder: %d, %+v", n, d.attempts)
	}
	d.box.surfaced, d.box.unread = ids(0, 2), ids(0, 4)
	out, err = d.wake(t0.Add(2 * time.Minute))
	d.want(t, out, err, Notified, 3)
	if got := d.fake.got[2].IDs; len(got) != 1 || got[0] != id(3) {
		t.Errorf("announced %v, want what is new only", got)
	}
}

// Nothing is sent into an open dialog or after an Esc; it is journalled, and
// tried again when it is over. An adapter that looks for itself is asked.
func TestHeldWhileUntouchable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		state presence.State
		say   string
	}{{presence.Dialog, "permission question"}, {presence.Interrupted, "its person stopped it"}} {
		d := newDesk(memory())
		s := &presence.Session{Runtime: "x", ID: "s", State: test.state, Since: t0}
		d.Session = func(Agent) *presence.Session { return s }
		d.box.add(id(1))
		out, err := d.wake(t0)
		if out.State != Held || err != nil || len(d.fake.got) != 0 || len(d.attempts) != 1 || !strings.Contains(out.Evidence, test.say) {
			t.Errorf("%s: %+v, %v; %d wakes, %d attempts", test.state, out, err, len(d.fake.got), len(d.attempts))
		}
		s = &presence.Session{Runtime: "x", ID: "s", State: presence.Idle}
		if _, err := d.Retry(context.Background(), d.recipients(), t0.Add(5*time.Second)); err != nil || len(d.fake.got) != 1 {
			t.Errorf("%s: afterwards %d wakes, %v", test.state, len(d.fake.got), err)
		}
	}
	d := newDesk(memory())
	d.Table = NewTable(watcher{d.fake})
	d.Session = func(Agent) *presence.Session { return &presence.Session{State: presence.Dialog} }
	d.box.add(id(1))
	if out, _ := d.wake(t0); out.State != Notified {
		t.Errorf("an adapter that looks itself: %+v", out)
	}
}

type watcher struct{ *fake }

func (watcher) LooksItself() {}
