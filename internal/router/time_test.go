package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/policy"
)

// told counts an agent's mail from the office whose subject begins so.
func fromOffice(t *testing.T, d *officetest.Desk, agent, subject string) (n int) {
	t.Helper()
	items, err := d.Box(agent).List(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if it.From == "postroom" && strings.HasPrefix(it.Subject, subject) {
			n++
		}
	}
	return n
}

func waiting(t *testing.T, d *officetest.Desk) []approval.Approval {
	t.Helper()
	open, err := approval.Open(d.Office().FS)
	if err != nil {
		t.Fatal(err)
	}
	return open
}

func TestDebtInTime(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	want := func(when string, reminders, told, asked int) {
		t.Helper()
		d.Pass()
		d.Pass()
		if r, s, a := fromOffice(t, d, "coder", "Overdue"), fromOffice(t, d, "researcher", "Overdue"), len(waiting(t, d)); r != reminders || s != told || a != asked {
			t.Errorf("%s: %d reminders, the sender told %d times, %d approvals; wanted %d, %d, %d", when, r, s, a, reminders, told, asked)
		}
	}
	want("at once", 0, 0, 0)
	d.Clock.Advance(59 * time.Minute)
	want("before it is due", 0, 0, 0)
	d.Clock.Advance(2 * time.Minute)
	want("due", 1, 0, 0)
	d.Clock.Advance(20 * time.Minute)
	want("in the grace", 1, 0, 0)
	d.Clock.Advance(11 * time.Minute)
	want("after the grace", 1, 1, 1)
	for range 5 {
		d.Clock.Advance(24 * time.Hour)
		want("days later", 1, 1, 1)
	}
	settled(t, d)
}

func TestDebtAndClockJump(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	boot := officetest.NewClock() // goes on steadily, whatever is done to the wall clock
	d.Sys.Boot = func() (string, time.Duration, bool) { return "boot", boot.Now().Sub(officetest.Start), true }
	both := func(by time.Duration) { d.Clock.Advance(by); boot.Advance(by) }
	d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	d.Pass()
	for _, jump := range []time.Duration{5 * time.Hour, -9 * time.Hour, 30 * 24 * time.Hour, -30 * 24 * time.Hour} {
		both(time.Minute)
		d.Clock.Advance(jump)
		d.Pass()
		if n := fromOffice(t, d, "coder", "Overdue"); n != 0 {
			t.Fatalf("reminded after a jump of %v", jump)
		}
	}
	both(57 * time.Minute)
	d.Pass()
	if n := fromOffice(t, d, "coder", "Overdue"); n != 1 {
		t.Errorf("%d reminders an hour of real time later", n)
	}
}

func TestFarDeadline(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	d.Write("researcher", "far.json", `{"to":"coder","act":"request","subject":"far","body":"x","deadline":"9999-12-31T00:00:00Z"}`)
	d.Write("researcher", "past.json", `{"to":"coder","act":"request","subject":"past","body":"x","deadline":"1971-01-01T00:00:00Z"}`)
	d.Pass()
	d.Pass()
	if n := fromOffice(t, d, "coder", "Overdue"); n != 1 {
		t.Errorf("%d reminders", n)
	}
	d.Clock.Advance(10 * 365 * 24 * time.Hour)
	d.Pass()
	if n := fromOffice(t, d, "coder", "Overdue"); n != 1 {
		t.Errorf("%d reminders ten years later", n)
	}
	settled(t, d)
}

func TestReceiptsFold(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	d.Pass()
	b := d.Box("coder")
	o, err := b.Next(func(o *mailbox.Opened) (*mail.Receipt, error) {
		return &mail.Receipt{Event: mail.EventRead, ID: o.ID, Part: 1, Parts: 1, Evidence: "post read"}, nil
	})
	if err != nil || o.ID != m.ID {
		t.Fatalf("%+v %v", o, err)
	}
	if _, err := b.Finish(m.ID); err != nil {
		t.Fatal(err)
	}
	d.Pass()
	d.Pass()
	life, err := d.Box("researcher").Trace(m.ID)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range life.Steps {
		count[s.Event]++
		if s.Record == 0 && s.Event != "stored" {
			t.Errorf("not in the journal: %+v", s)
		}
	}
	if count["read"] != 1 || count["done"] != 1 || count["delivered"] != 1 {
		t.Errorf("%v", count)
	}
}

func decide(t *testing.T, d *officetest.Desk, id string, dec approval.Decision) error {
	t.Helper()
	dec.By, dec.At = "human", d.Clock.Now()
	return approval.Decide(d.Office().FS, id, dec)
}

func ask(d *officetest.Desk) (*mail.Message, error) {
	return trySend(d, "researcher", mailbox.Draft{To: []string{"human"}, Act: mail.Query, Subject: "May I?", Body: "Deploy?"})
}

// answers lists what a person, or time, has told an agent.
func answers(t *testing.T, d *officetest.Desk, agent string) (n int) {
	t.Helper()
	items, err := d.Box(agent).List(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if it.From == "human" {
			n++
		}
	}
	return n
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(*testing.T, *officetest.Desk, string)
		again  mail.Kind // of the same question, a minute later
	}{
		"answered": {func(t *testing.T, d *officetest.Desk, id string) {
			if err := decide(t, d, id, approval.Decision{Text: "Yes."}); err != nil {
				t.Fatal(err)
			}
			if err := decide(t, d, id, approval.Decision{Text: "No!"}); mail.KindOf(err) != mail.KindConflict {
				t.Errorf("decided twice: %v", err)
			}
		}, ""},
		"rejected": {func(t *testing.T, d *officetest.Desk, id string) {
			if err := decide(t, d, id, approval.Decision{Verdict: approval.VerdictRejected, Text: "No."}); err != nil {
				t.Fatal(err)
			}
		}, mail.KindRule},
		"expired": {func(t *testing.T, d *officetest.Desk, id string) { d.Clock.Advance(8 * 24 * time.Hour) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "researcher")
			if _, err := ask(d); err != nil {
				t.Fatal(err)
			}
			d.Pass()
			open := waiting(t, d)
			if len(open) != 1 || open[0].Kind != policy.Question {
				t.Fatalf("%+v", open)
			}
			c.decide(t, d, open[0].ID)
			for range 3 {
				d.Pass()
				d.Clock.Advance(time.Minute)
			}
			if n := answers(t, d, "researcher"); n != 1 || len(waiting(t, d)) != 0 {
				t.Errorf("%d answers, %d open", n, len(waiting(t, d)))
			}
			if _, err := ask(d); mail.KindOf(err) != c.again {
				t.Errorf("asked again: %v", err)
			}
			d.Pass()
			settled(t, d)
		})
	}
}

func TestFuse(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"deliver", "stop"} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "a", "b")
			d.Configure(func(c *config.Office) { c.Policy.FuseTurns = 2 })
			m := d.Send("a", mailbox.Draft{To: []string{"b"}, Act: mail.Query, Subject: "q", Body: "0"})
			say := func(i int) (*mail.Message, error) {
				d.Pass()
				d.Clock.Advance(time.Second)
				names := [2]string{"a", "b"}
				return trySend(d, names[i%2], mailbox.Draft{To: []string{names[(i+1)%2]}, Act: mail.Query, Conversation: m.Conversation, Subject: "q", Body: string(rune('0' + i))})
			}
			var held *mail.Message
			for i := 1; i <= 3; i++ {
				var err error
				if held, err = say(i); err != nil {
					t.Fatal(i, err)
				}
			}
			d.Pass()
			open := waiting(t, d)
			if len(open) != 1 || open[0].Message != held.ID || !open[0].Fuse {
				t.Fatalf("%+v", open)
			}
			for range 3 { // it stays blown
				if _, err := say(3); mail.KindOf(err) != mail.KindRule {
					t.Fatalf("blown, and sent: %v", err)
				}
			}
			if err := decide(t, d, open[0].ID, approval.Decision{Choice: choice}); err != nil {
				t.Fatal(err)
			}
			d.Pass()
			d.Pass()
			l := settled(t, d)
			_, err := say(4)
			if released := choice == "deliver"; released != (len(l.Held[held.ID]) == 1) || released != (err == nil) {
				t.Errorf("%s: held by %v, and then %v", choice, l.Held[held.ID], err)
			}
		})
	}
}
