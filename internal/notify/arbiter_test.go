package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// fake is an adapter that does as it is told.
type fake struct {
	mu     sync.Mutex
	state  State
	err    error
	during func(Pointer) // called while the wake is under way
	got    []Pointer
}

func (*fake) Kind() string { return "fake" }

func (f *fake) Notify(_ context.Context, _ Agent, p Pointer) (Outcome, error) {
	f.mu.Lock()
	state, err, during := f.state, f.err, f.during
	f.got = append(f.got, p)
	f.mu.Unlock()
	if during != nil {
		during(p)
	}
	return Outcome{state, "fake: " + string(state)}, err
}

// box is an inbox.
type box struct {
	mu       sync.Mutex
	unread   []mail.ID
	surfaced []mail.ID
	err      error
	looks    int
}

func (b *box) list() (Waiting, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	return Waiting{IDs: slices.Clone(b.unread), Surfaced: slices.Clone(b.surfaced)}, b.err
}

func (b *box) add(more ...mail.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unread = append(b.unread, more...)
}

// desk is an arbiter with one agent.
type desk struct {
	*Arbiter
	fake     *fake
	box      *box
	agent    Agent
	mu       sync.Mutex
	attempts []Attempt
}

func newDesk(fsys vfs.FS) *desk {
	d := &desk{fake: &fake{state: Notified}, box: &box{}, agent: Agent{Name: "coder", AID: "a-1", Notify: []string{"fake"}}}
	d.Arbiter = &Arbiter{
		FS: fsys, Office: "/srv/my office", OfficeID: "o-1", Table: NewTable(d.fake),
		Record: func(a Attempt) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.attempts = append(d.attempts, a)
		},
	}
	return d
}

func memory() *vfs.Mem { return vfs.NewMem(func() time.Time { return t0 }) }

func (d *desk) wake(now time.Time) (Outcome, error) {
	return d.Wake(context.Background(), d.agent, d.box.list, now)
}

func (d *desk) recipients() []Recipient { return []Recipient{{d.agent, d.box.list}} }

func (d *desk) want(t *testing.T, out Outcome, err error, state State, attempts int) {
	t.Helper()
	if out.State != state || out.Evidence == "" || (err != nil) != (state == Failed && attempts == 0) {
		t.Errorf("outcome %+v, %v; want %s", out, err, state)
	}
	if len(d.attempts) != attempts || len(d.fake.got) != attempts {
		t.Fatalf("%d attempts recorded, %d made, want %d", len(d.attempts), len(d.fake.got), attempts)
	}
}

func TestWakeAnnouncesOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	out, err := d.wake(t0)
	d.want(t, out, err, NotNeeded, 0)
	d.box.add(ids(0, 2)...)
	out, err = d.wake(t0)
	d.want(t, out, err, Notified, 1)
	out, err = d.wake(t0.Add(time.Second))
	d.want(t, out, err, Notified, 1)
	if !strings.Contains(out.Evidence, "since 14:00:00 UTC") {
		t.Errorf("evidence %q does not say since when", out.Evidence)
	}
	p := d.fake.got[0]
	const command = "post inbox --as coder --office '/srv/my office'"
	if p.Count != 2 || p.Command != command || p.Text != "2 new messages: run `"+command+"`" || p.OfficeID != "o-1" {
		t.Errorf("pointer %+v", p)
	}
	d.box.unread = nil
	out, err = d.wake(t0.Add(2 * time.Second))
	d.want(t, out, err, NotNeeded, 1)
	if names, _ := d.FS.ReadNames("wake"); !slices.Equal(names, []string{"a-1.lock"}) {
		t.Errorf("left behind: %q", names)
	}
}

// An agent that needs no waking costs no look at the disk.
func TestWakeNone(t *testing.T) {
	t.Parallel()
	var calls vfs.Fault
	d := newDesk(calls.Wrap(memory()))
	d.agent.Notify = []string{KindNone}
	d.box.add(id(1))
	if out, err := d.wake(t0); out.State != NotNeeded || err != nil {
		t.Errorf("%+v, %v", out, err)
	}
	if n := len(calls.Calls()); n > 0 || d.box.looks > 0 {
		t.Errorf("%d calls, %d looks", n, d.box.looks)
	}
}

func TestWakeFailures(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.box.add(id(1))
	for _, test := range []struct {
		state State
		err   error
		want  State
		say   string
	}{
		{Failed, errors.New("no\nsession"), Failed, "fake: failed"},
		{Held, nil, Held, "fake: held"},
		{Notified, errors.New("said yes and no"), Failed, "fake: notified"},
		{"delivered!", nil, Failed, `answered "delivered!"`},
		{"", nil, Failed, `answered ""`},
	} {
		d.fake.state, d.fake.err = test.state, test.err
		out, err := d.Force(context.Background(), d.agent, d.box.list, t0)
		if out.State != test.want || !strings.Contains(out.Evidence, test.say) || err != nil {
			t.Errorf("%q: %+v, %v", test.state, out, err)
		}
	}
	s, ok, err := d.Status(d.agent)
	if !ok || err != nil || s.Tries != 5 || s.PendingSince != t0 || s.Last.State != Failed {
		t.Errorf("status %+v, %t, %v", s, ok, err)
	}
	d.agent.Notify = []string{"pigeon"}
	if out, err := d.Force(context.Background(), d.agent, d.box.list, t0); out.State != Failed || !strings.Contains(out.Evidence, "use one of fake") || err != nil {
		t.Errorf("unknown kind: %+v, %v", out, err)
	}
	d.agent.AID = "../registry"
	if out, err := d.wake(t0); out.State != Failed || err == nil {
		t.Errorf("hostile id: %+v, %v", out, err)
	}
}

// An adapter that does not obey its context is left behind; the mail stays owed.
func TestWakeBudget(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.Budget = 100 * time.Millisecond
	release := make(chan struct{})
	defer close(release)
	d.fake.during = func(Pointer) { <-release }
	d.box.add(id(1))
	out, err := d.wake(t0)
	if out.State != Failed || !strings.Contains(out.Evidence, "took longer than 100ms") || err != nil {
		t.Errorf("%+v, %v", out, err)
	}
	d.fake.mu.Lock()
	d.fake.during = nil
	d.fake.mu.Unlock()
	if n, err := d.Retry(context.Background(), d.recipients(), t0.Add(4*time.Second)); n != 0 || err != nil {
		t.Errorf("retried before its time: %d, %v", n, err)
	}
	if n, err := d.Retry(context.Background(), d.recipients(), t0.Add(5*time.Second)); n != 1 || err != nil {
		t.Errorf("not retried: %d, %v", n, err)
	}
	if got := d.attempts[len(d.attempts)-1].Outcome; got.State != Notified {
		t.Errorf("%+v", got)
	}
}

func TestWakeCancelled(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.box.add(id(1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, err := d.Wake(ctx, d.agent, d.box.list, t0)
	d.want(t, out, err, Pending, 0)
	if n, err := d.Retry(context.Background(), d.recipients(), t0); n != 1 || err != nil || len(d.attempts) != 1 {
		t.Errorf("looked at %d, %v, %d attempts", n, err, len(d.attempts))
	}
}

// Mail that comes while somebody is waking is not missed, whoever brings it.
func TestMailDuringWake(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.box.add(id(1))
	d.fake.during = func(p Pointer) {
		if p.IDs[0] != id(1) {
			return
		}
		d.box.add(id(2))
		if out, err := d.wake(t0); out.State != Pending || err != nil {
			t.Errorf("second: %+v, %v", out, err)
		}
	}
	out, err := d.wake(t0)
	d.want(t, out, err, Notified, 1)
	if n, err := d.Retry(context.Background(), d.recipients(), t0.Add(quiet)); n != 1 || err != nil || len(d.fake.got) != 2 {
		t.Fatalf("looked at %d, %v, %d wakes", n, err, len(d.fake.got))
	}
	if !slices.Equal(d.fake.got[1].IDs, ids(2, 3)) || d.marked() {
		t.Errorf("second wake %v, mark left %t", d.fake.got[1].IDs, d.marked())
	}
}

func (d *desk) marked() bool { return store{d.FS}.marked(d.agent.AID) }

// It goes round only so often; then a pass has to go on.
func TestMailDuringEveryWake(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.box.add(id(1))
	n := 1
	d.fake.during = func(Pointer) { n++; d.box.add(id(n)) }
	d.fake.state = NotNeeded // so that nothing is waited for in between
	out, err := d.wake(t0)
	d.want(t, out, err, NotNeeded, maxRounds)
	if !d.marked() {
		t.Fatal("nothing tells a pass that more mail is there")
	}
	d.fake.during = nil
	now := t0.Add(gap) // three wakes went unanswered
	if looked, err := d.Retry(context.Background(), d.recipients(), now); looked != 1 || err != nil {
		t.Errorf("looked at %d, %v", looked, err)
	}
	if last := d.fake.got[len(d.fake.got)-1]; !slices.Contains(last.IDs, id(n)) || d.marked() {
		t.Errorf("last wake %v, mark left %t", last.IDs, d.marked())
	}
}

func TestInboxEmptiedBeforeRetry(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.fake.state = Held
	d.box.add(id(1))
	out, err := d.wake(t0)
	d.want(t, out, err, Held, 1)
	d.box.unread = nil
	if n, err := d.Retry(context.Background(), d.recipients(), t0.Add(time.Hour)); n != 1 || err != nil || len(d.fake.got) != 1 {
		t.Errorf("looked at %d, %v, %d wakes", n, err, len(d.fake.got))
	}
	if n, _ := d.Retry(context.Background(), d.recipients(), t0.Add(2*time.Hour)); n != 0 {
		t.Error("still owed")
	}
}

func TestTornState(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "half": `{"v":1,"agent":"cod`, "newer": `{"v":2}`, "zeroes": "\x00\x00\x00",
		"impossible": `{"v":1,"tries":-1}`, "hostile": `{"v":1,"announced":{"ids":["../x"]}}`,
		"large": strings.Repeat(" ", maxState) + `{"v":1}`,
	} {
		d := newDesk(memory())
		d.box.add(id(1))
		d.wake(t0)
		f, err := d.FS.OpenFile("wake/a-1.json", os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(f, text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if s, ok, err := d.Status(d.agent); !ok || s.Torn == "" || err != nil {
			t.Errorf("%s: status %+v, %t, %v", name, s, ok, err)
		}
		if n, err := d.Retry(context.Background(), d.recipients(), t0.Add(time.Second)); n != 1 || err != nil {
			t.Errorf("%s: looked at %d, %v", name, n, err)
		}
		if len(d.attempts) != 2 || !strings.Contains(d.attempts[1].Outcome.Evidence, "torn") {
			t.Errorf("%s: attempts %+v, want a second that says so", name, d.attempts)
		}
	}
}

func TestUnreadableInbox(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	d.box.err = errors.New("input/output error")
	out, err := d.wake(t0)
	d.want(t, out, err, Failed, 0)
	d.box.err = nil
	d.box.add(id(1))
	if n, err := d.Retry(context.Background(), d.recipients(), t0); n != 1 || err != nil || len(d.attempts) != 1 {
		t.Errorf("looked at %d, %v; %d attempts", n, err, len(d.attempts))
	}
}

// On a full disk nobody is woken over and over, and it is said.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 1} { // writes that still succeed
		var faults vfs.Fault
		d := newDesk(faults.Wrap(memory()))
		writes := 0
		faults.FailIf(func(c vfs.Call) error {
			if c.Op != "write" {
				return nil
			}
			if writes++; writes <= first {
				return nil
			}
			return errors.New("no space left on device")
		})
		d.box.add(id(1))
		for i := range 50 {
			out, err := d.wake(t0.Add(time.Duration(i) * time.Second))
			if err == nil || !strings.Contains(out.Evidence+err.Error(), "no space") {
				t.Fatalf("wake %d: %+v, %v", i, out, err)
			}
		}
		if n := len(d.fake.got); n > first {
			t.Errorf("%d writes: %d wakes", first, n)
		}
	}
}

// One fault at any call: no outcome claims more than happened, and the next
// pass makes it good with at most one wake more.
func TestFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		var faults vfs.Fault
		d := newDesk(faults.Wrap(memory()))
		d.box.add(id(1))
		faults.FailAt(n, errors.New("input/output error"))
		out, err := d.wake(t0)
		if out.State == Notified && len(d.fake.got) == 0 {
			t.Errorf("call %d: notified nobody", n)
		}
		if len(faults.Calls()) < n {
			return
		}
		for range 2 {
			if err := d.Sweep(context.Background(), d.recipients(), t0.Add(30*time.Second)); err != nil {
				t.Errorf("call %d: sweep: %v", n, err)
			}
		}
		if got := len(d.fake.got); got < 1 || got > 2 {
			t.Errorf("call %v (%+v, %v): %d wakes", faults.Calls()[n-1], out, err, got)
		}
	}
}

// A crash after any call, and any state of the disk it leaves: a sweep
// announces what is unread.
func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		var faults vfs.Fault
		mem := memory()
		d := newDesk(faults.Wrap(mem))
		d.box.add(id(1))
		faults.CrashAfter(n)
		if !vfs.Crashed(func() { d.wake(t0) }) {
			return
		}
		before := len(d.fake.got)
		for state := range mem.CrashStates(10000) {
			after := newDesk(state)
			after.box.add(id(1))
			if err := after.Sweep(context.Background(), after.recipients(), t0.Add(30*time.Second)); err != nil {
				t.Errorf("after call %d: %v", n, err)
			}
			if before+len(after.fake.got) == 0 {
				t.Errorf("after call %d: nobody was woken", n)
			}
		}
	}
}

// Many deliver at once, on a real disk: one wake at a time, nothing missed.
func TestConcurrentWakes(t *testing.T) {
	t.Parallel()
	fsys, err := vfs.OpenReal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	d := newDesk(fsys)
	var under atomic.Int32
	told := map[mail.ID]int{}
	d.fake.during = func(p Pointer) {
		if under.Add(1) > 1 {
			t.Error("two wakes at once")
		}
		for _, id := range p.IDs {
			told[id]++ // the race detector watches the lock
		}
		under.Add(-1)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				d.box.add(id(g*100 + i))
				if out, err := d.wake(t0); err != nil || out.State == Failed {
					t.Errorf("%+v, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := d.Retry(context.Background(), d.recipients(), t0.Add(gap)); err != nil {
		t.Error(err)
	}
	for _, id := range d.box.unread {
		if told[id] == 0 {
			t.Errorf("%s was never announced", id)
		}
	}
}

func TestRetryLooksOnlyWhereSomethingIsOwed(t *testing.T) {
	t.Parallel()
	d := newDesk(memory())
	var rs []Recipient
	for i := range 100 {
		agent := Agent{Name: fmt.Sprintf("a%d", i), AID: fmt.Sprintf("a-%d", i), Notify: []string{"fake"}}
		rs = append(rs, Recipient{agent, d.box.list})
	}
	d.box.add(id(1))
	d.fake.state = Failed
	for _, r := range rs[:10] {
		d.Wake(context.Background(), r.Agent, r.Unread, t0)
	}
	if n, err := d.Retry(context.Background(), rs, t0.Add(time.Second)); n != 0 || err != nil {
		t.Errorf("looked at %d, %v", n, err)
	}
	d.fake.state = Notified
	if n, err := d.Retry(context.Background(), rs, t0.Add(5*time.Second)); n != 10 || err != nil || len(d.attempts) != 20 {
		t.Errorf("looked at %d, %v, %d attempts", n, err, len(d.attempts))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Retry(ctx, rs, t0.Add(time.Hour)); err != nil || len(d.attempts) != 20 {
		t.Errorf("without time: %v, %d attempts", err, len(d.attempts))
	}
}
