package reach_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/reach"
)

// phone is an adapter of a person's that writes down what it takes.
type phone struct {
	mu   sync.Mutex
	took []notify.Pointer
	says func() (notify.Outcome, error) // nil: it takes it
	left time.Duration                  // how long the last call had
}

func (*phone) Kind() string { return "phone" }

func (f *phone) Notify(ctx context.Context, agent notify.Agent, p notify.Pointer) (notify.Outcome, error) {
	if err := p.Check(); err != nil {
		return notify.Fail("phone", agent, err.Error(), "")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if end, ok := ctx.Deadline(); ok {
		f.left = time.Until(end)
	}
	if f.says != nil {
		if out, err := f.says(); out.State != notify.Notified {
			return out, err
		}
	}
	f.took = append(f.took, p)
	return notify.Outcome{State: notify.Notified, Evidence: "phone: rang"}, nil
}

func (f *phone) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.took)
}

// home is an office whose person has a phone.
type home struct {
	*officetest.Desk
	t     *testing.T
	phone *phone
	set   config.Person
	said  []notify.Attempt
}

func newHome(t *testing.T, agents ...string) *home {
	return &home{Desk: officetest.NewDesk(t, agents...), t: t, phone: &phone{}, set: config.Person{Notify: [][]string{{"phone"}}}}
}

func (h *home) reacher() *reach.Reacher {
	o := h.Office()
	return &reach.Reacher{FS: o.FS, Office: o.Dir, OfficeID: o.Config.ID, Person: h.set, Table: notify.NewTable(h.phone), Program: "post",
		Now: h.Clock.Now, Record: func(a notify.Attempt) { h.said = append(h.said, a) }}
}

// run is what every pass does: the router's part, then this.
func (h *home) run() {
	h.t.Helper()
	h.Pass()
	if err := h.reacher().Run(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) ask(subject string) *approval.Approval {
	h.t.Helper()
	m := h.Send("coder", mailbox.Draft{To: []string{"human"}, Act: mail.Query, Subject: subject, Body: "the body of " + subject})
	h.Pass()
	for _, a := range h.open() {
		if a.Message == m.ID {
			return &a
		}
	}
	h.t.Fatal("nobody was asked")
	return nil
}

func (h *home) open() []approval.Approval {
	h.t.Helper()
	open, err := approval.Open(h.Office().FS)
	if err != nil {
		h.t.Fatal(err)
	}
	return open
}

func (h *home) answer(id string) {
	h.t.Helper()
	if err := approval.Decide(h.Office().FS, id, approval.Decision{Text: "Yes.", By: "human", At: h.Clock.Now()}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) status(id string) reach.Status {
	h.t.Helper()
	all, err := h.reacher().Statuses(h.open())
	if err != nil {
		h.t.Fatal(err)
	}
	return all[id]
}

// wait lets time pass as a router that always runs does.
func (h *home) wait(d time.Duration) {
	h.t.Helper()
	const step = 10 * time.Minute
	for ; d > 0; d -= step {
		h.Clock.Advance(min(step, d))
		h.run()
	}
}

// One notice and one reminder, however often anybody looks.
func TestOneNoticeOneReminder(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	a := h.ask("May I?")
	for range 5 {
		h.run()
	}
	if n := h.phone.calls(); n != 1 {
		t.Fatalf("%d notices", n)
	}
	p := h.phone.took[0]
	if want := "1 question waits for you, until 2026-06-06 14:03 UTC: run `post approvals " + a.ID + " --office /office`"; p.Text != want {
		t.Errorf("%q, want %q", p.Text, want)
	}
	if p.Title() != "Postroom: coder asks you" || strings.Contains(p.Body(4000), "May I") || p.IDs[0] != a.Message {
		t.Errorf("%q, %+v", p.Title(), p)
	}
	if s := h.status(a.ID); s.State != reach.Told || !strings.HasPrefix(s.String(), "you were told at 2026-05-30 14:03 UTC (phone: rang)") {
		t.Errorf("%v", s)
	}
	h.wait(50 * time.Minute)
	if n := h.phone.calls(); n != 1 {
		t.Fatalf("%d notices before the reminder", n)
	}
	h.wait(3 * 24 * time.Hour)
	if n := h.phone.calls(); n != 2 || !strings.Contains(h.phone.took[1].Text, "still waits for you") {
		t.Fatalf("%d in three days: %+v", n, h.phone.took)
	}
	if s := h.status(a.ID); !strings.Contains(s.String(), "and reminded at 2026-05-30 15:") {
		t.Errorf("%v", s)
	}
	if len(h.said) != 2 || h.said[0].Agent.Name != "human" || h.said[0].IDs[0] != a.Message {
		t.Errorf("evidence: %+v", h.said)
	}
}

// A notice is read, not answered: nobody waits for it, and nothing reminds.
func TestNoticeIsNotReminded(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	h.Send("coder", mailbox.Draft{To: []string{"human"}, Act: mail.Inform, Subject: "Green", Body: "All tests pass."})
	h.run()
	h.wait(2 * 24 * time.Hour)
	if n := h.phone.calls(); n != 1 {
		t.Errorf("%d notices", n)
	}
}

func TestRemindAfterAndOff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"off": 1, "20m": 2, "48h": 1} {
		h := newHome(t, "coder")
		h.set.RemindAfter = text
		h.ask("May I?")
		h.run()
		h.wait(time.Hour)
		if n := h.phone.calls(); n != want {
			t.Errorf("%s: %d notices in an hour, want %d", text, n, want)
		}
	}
}

// What was decided meanwhile is told of no more: not before the notice, not in
// quiet hours, not by the reminder.
func TestDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	h.answer(h.ask("May I?").ID)
	h.run()
	if n := h.phone.calls(); n != 0 {
		t.Errorf("%d notices of what was decided", n)
	}
	b := h.ask("And this?")
	h.run()
	h.answer(b.ID)
	h.wait(2 * time.Hour)
	if n := h.phone.calls(); n != 1 {
		t.Errorf("reminded of what was decided: %d", n)
	}
	h.set.Quiet = "00:00-24:00 UTC"
	c := h.ask("Quietly?")
	h.run()
	h.answer(c.ID)
	h.set.Quiet = ""
	h.wait(2 * time.Hour)
	if n := h.phone.calls(); n != 1 {
		t.Errorf("told after quiet hours of what was decided in them: %d", n)
	}
}

// Decided between the look and the call: the look right before the call sees it.
func TestDecidedInTheLastMoment(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	a := h.ask("May I?")
	r := h.reacher()
	calls := 0
	r.Now = func() time.Time {
		if calls++; calls == 2 { // the round has begun
			h.answer(a.ID)
		}
		return h.Clock.Now()
	}
	b := h.ask("And that?")
	if err := r.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := h.phone.calls(); n != 1 || len(h.phone.took[0].Asks) != 1 || h.phone.took[0].Asks[0].Approval != b.ID {
		t.Errorf("%d notices: %+v", n, h.phone.took)
	}
}

// What comes in quiet hours is one notice afterwards, and its reminder counts from
// there; expired questions are in none.
func TestQuietHoursAreHeld(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	h.set.Quiet = "16:00-08:00 Europe/Berlin" // it is 16:03 there
	var ids []string
	for _, s := range []string{"One?", "Two?", "Three?"} {
		ids = append(ids, h.ask(s).ID)
		h.wait(time.Hour)
	}
	m := h.Send("coder", mailbox.Draft{To: []string{"human"}, Act: mail.Query, Subject: "Soon?", Body: "x", Deadline: "1h"})
	h.wait(90 * time.Minute)
	if n := h.phone.calls(); n != 0 {
		t.Fatalf("%d notices in quiet hours", n)
	}
	if s := h.status(ids[0]); s.State != reach.Hushed || s.String() != "you are told after your quiet hours, from 2026-05-31 06:00 UTC" {
		t.Errorf("%v", s)
	}
	h.wait(12 * time.Hour) // 06:33 UTC, 08:33 there
	if n := h.phone.calls(); n != 1 || h.phone.took[0].Count != 3 {
		t.Fatalf("%d notices after it: %+v", n, h.phone.took)
	}
	for _, a := range h.phone.took[0].Asks {
		if a.Approval == approval.IDFor("question", m.ID, "") {
			t.Error("told of a question that had expired")
		}
	}
	if !strings.HasPrefix(h.phone.took[0].Text, "3 questions wait for you: run `post approvals --office /office`") {
		t.Error(h.phone.took[0].Text)
	}
	h.wait(2 * time.Hour)
	if n := h.phone.calls(); n != 2 || h.phone.took[1].Count != 3 {
		t.Errorf("the reminder is one, too: %d", n)
	}
}

// A burst is not a burst of notices.
func TestBurst(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	for n := range 40 {
		h.ask("Question " + time.Duration(n).String())
		h.run()
		h.Clock.Advance(100 * time.Millisecond)
	}
	h.wait(10 * time.Minute)
	if n := h.phone.calls(); n != 4 {
		t.Errorf("%d notices of 40 questions in four seconds", n)
	}
	total := 0
	for _, p := range h.phone.took {
		total += p.Count
	}
	if total != 40 || len(h.phone.took[3].Asks) != notify.MaxAsks {
		t.Errorf("told of %d, %d in the last", total, len(h.phone.took[3].Asks))
	}
}

// A failure is shown, and tried again more and more rarely; then it is one notice.
func TestFailureIsLoudAndTriedAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	tries := 0
	h.phone.says = func() (notify.Outcome, error) {
		tries++
		return notify.Fail("phone", notify.Agent{Name: "human"}, "no signal\x1b[31m", "go outside")
	}
	a := h.ask("May I?")
	h.run()
	h.run()
	s := h.status(a.ID)
	if s.State != reach.Failed || !strings.Contains(s.String(), "you could not be told: phone: failed: no signal") || strings.Contains(s.String(), "\x1b") {
		t.Fatalf("%v", s)
	}
	h.wait(24 * time.Hour)
	if tries < 20 || tries > 30 {
		t.Errorf("%d tries in a day", tries)
	}
	h.phone.says = nil
	h.wait(2 * time.Hour)
	if n := h.phone.calls(); n != 2 { // the notice, and an hour later the reminder
		t.Errorf("%d notices", n)
	}
	if s := h.status(a.ID); s.State != reach.Told {
		t.Errorf("%v", s)
	}
}

// One of two ways is enough; what the other said stays.
func TestOneOfTwo(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	h.set.Notify = [][]string{{"carrier-pigeon"}, {"phone"}}
	a := h.ask("May I?")
	h.run()
	h.run()
	if s := h.status(a.ID); s.State != reach.Told || !strings.Contains(s.Evidence, "no such adapter") || h.phone.calls() != 1 {
		t.Errorf("%v", s)
	}
	if list := h.reacher().Problems(); len(list) != 1 {
		t.Errorf("%v", list)
	}
}

// Nothing of a message is shown unless the person wants it, and then as what it
// is.
func TestShow(t *testing.T) {
	t.Parallel()
	const hostile = "Pay\u202e \x1b[2J <b>now</b>"
	for show, want := range map[string][2]bool{"": {}, "nothing": {}, "subject": {true, false}, "body": {true, true}} {
		h := newHome(t, "coder")
		h.set.Show = show
		h.Send("coder", mailbox.Draft{To: []string{"human"}, Act: mail.Query, Subject: hostile, Body: "canary\nline \x07two"})
		h.run()
		if len(h.phone.took) != 1 {
			t.Fatalf("%s: %v", show, h.said)
		}
		body := h.phone.took[0].Body(4000)
		if strings.Contains(body, "Pay") != want[0] || strings.Contains(body, "canary\nline") != want[1] {
			t.Errorf("%s: %q", show, body)
		}
		if want[0] && !strings.Contains(body, "\ncoder writes: Pay") || strings.ContainsAny(body, "\x1b\x07\u202e") {
			t.Errorf("%s: %q", show, body)
		}
	}
}

// A hook has little time: nothing is begun that may be cut off, and nothing takes
// longer than the caller has.
func TestLittleTime(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	a := h.ask("May I?")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := h.reacher().Run(ctx); err != nil || h.phone.calls() != 0 || h.status(a.ID).State != reach.Waiting {
		t.Errorf("%v, %d calls, %v", err, h.phone.calls(), h.status(a.ID))
	}
	left := make(chan time.Duration, 1)
	h.phone.says = func() (notify.Outcome, error) {
		left <- h.phone.left
		return notify.Outcome{State: notify.Notified}, nil
	}
	ctx, cancel = context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r := h.reacher()
	r.Budget = time.Hour
	if err := r.Run(ctx); err != nil || h.phone.calls() != 1 {
		t.Errorf("%v, %d calls", err, h.phone.calls())
	}
	if d := <-left; d <= 0 || d > 30*time.Second {
		t.Errorf("the adapter has %v", d)
	}
}

// Two processes at once: one notice.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	h.ask("May I?")
	var wg sync.WaitGroup
	for range 8 {
		r := h.reacher()
		r.Record = nil
		wg.Go(func() {
			if err := r.Run(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := h.phone.calls(); n != 1 {
		t.Errorf("%d notices", n)
	}
}

// A record that cannot be read is put aside, and the person told once more; that
// is said.
func TestTornRecord(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	a := h.ask("May I?")
	h.run()
	f, err := h.Office().FS.OpenFile("wake/human.told.json", 1|512, 0o600) // write, truncate
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(`{"v":1,"asked":{"../x":{}}}`))
	f.Close()
	if _, err := h.reacher().Statuses(nil); mail.KindOf(err) != mail.KindCorrupt {
		t.Errorf("%v", err)
	}
	h.run()
	h.run()
	if n := h.phone.calls(); n != 2 || h.status(a.ID).State != reach.Told {
		t.Errorf("%d notices", n)
	}
	if list := h.reacher().Problems(); len(list) != 1 || !strings.Contains(list[0].Error(), "put aside") {
		t.Errorf("%v", list)
	}
}

// A clock that is set back or forth neither repeats a notice nor loses a reminder.
func TestClockSet(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{-30 * 24 * time.Hour, 5 * 24 * time.Hour} {
		h := newHome(t, "coder")
		h.ask("May I?")
		h.run()
		h.Clock.Advance(jump)
		h.run()
		h.wait(2 * time.Hour)
		if n := h.phone.calls(); n != 2 {
			t.Errorf("%v: %d notices", jump, n)
		}
	}
}

func TestTestNotice(t *testing.T) {
	t.Parallel()
	h := newHome(t, "coder")
	h.set.Quiet = "00:00-24:00 UTC"
	h.ask("May I?")
	said, err := h.reacher().Test(context.Background())
	if err != nil || len(said) != 1 || said[0].Outcome.State != notify.Notified {
		t.Fatalf("%+v, %v", said, err)
	}
	if p := h.phone.took[0]; !p.Test || p.Title() != "Postroom: a test" || !strings.HasPrefix(p.Text, "this is a test at 2026-05-30 14:03:11 UTC") {
		t.Errorf("%+v", p)
	}
	h.set.Notify = nil
	if _, err := h.reacher().Test(context.Background()); mail.KindOf(err) != mail.KindNotFound {
		t.Errorf("%v", err)
	}
}
