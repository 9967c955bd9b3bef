package router_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

func item(n string) mailbox.Draft {
	return mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "News " + n, Body: "Lunch " + n + "."}
}

// parks runs the pass of a sender.
func parks(t *testing.T, d *officetest.Desk) {
	t.Helper()
	if _, err := d.Router().Pass(context.Background(), router.Options{Own: "a-researcher", Park: true}); err != nil {
		t.Fatal(err)
	}
}

// entries counts the entries of an outbox.
func entries(t *testing.T, d *officetest.Desk) int {
	t.Helper()
	ids, _, err := d.Box("researcher").Author.Box.Pending(nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(ids)
}

// events lists what the journal's records say, from the first on.
func events(t *testing.T, d *officetest.Desk) (out []string) {
	t.Helper()
	if err := journal.Each(d.Office().FS, time.Time{}, time.Time{}, func(r journal.Record) error {
		out = append(out, r.Event)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// What is parked is seen by everybody at once, and filed by the next pass that
// looks at everything.
func TestParkedIsVisible(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	m := d.Send("researcher", item("1"))
	parks(t, d)
	items, err := d.Box("coder").List(true)
	if err != nil || len(items) != 1 || items[0].ID != m.ID || items[0].Seq != 1 {
		t.Fatalf("inbox: %+v %v", items, err)
	}
	if n := entries(t, d); n != 1 || !router.Parked(d.Office())[m.ID] {
		t.Fatalf("%d in the outbox, parked %v", n, router.Parked(d.Office()))
	}
	if got, want := events(t, d), []string{journal.Delivered, journal.Transcript, journal.Parked}; !slices.Equal(got, want) {
		t.Fatalf("journal %v, want %v", got, want)
	}
	d.Pass()
	if n := entries(t, d); n != 0 || len(router.Parked(d.Office())) != 0 {
		t.Fatalf("%d in the outbox", n)
	}
	if _, err := officetest.Check(d.Office()); err != nil {
		t.Fatal(err)
	}
}

// A sender's pass settles when many are parked, or for long.
func TestParkedAreFew(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	for i := range 17 {
		d.Clock.Advance(time.Millisecond)
		d.Send("researcher", item(fmt.Sprint(i)))
		parks(t, d)
	}
	if n := entries(t, d); n != 1 {
		t.Fatalf("%d are parked", n)
	}
	d.Clock.Advance(time.Minute)
	d.Send("researcher", item("last"))
	parks(t, d)
	if n := entries(t, d); n != 1 {
		t.Fatalf("%d are parked after a minute", n)
	}
	d.Pass()
	if l, err := officetest.Check(d.Office()); err != nil || len(l.Messages) != 18 {
		t.Fatal(err)
	}
}

// Nothing is parked where one boot can't be told from another.
func TestParkedNeedsABoot(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	d.Sys.Boot = func() (string, time.Duration, bool) { return "", 0, false }
	d.Send("researcher", item("1"))
	parks(t, d)
	if n := entries(t, d); n != 0 {
		t.Fatalf("%d are parked", n)
	}
	if _, err := officetest.Check(d.Office()); err != nil {
		t.Fatal(err)
	}
}

// A sender's pass that is killed after any of its calls, behind another's parked
// message, leaves nothing that the next sender's pass would take for written.
func TestParkedThenKilled(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		d := officetest.NewDesk(t, "researcher", "coder")
		d.Send("researcher", item("1"))
		parks(t, d)
		d.Send("researcher", item("2"))
		d.Fault = &vfs.Fault{}
		d.Fault.CrashAfter(n)
		killed := vfs.Crashed(func() {
			d.Router().Pass(context.Background(), router.Options{Own: "a-researcher", Park: true})
		})
		d = d.Killed()
		d.Send("researcher", item("3"))
		parks(t, d)
		d.Pass()
		l, err := officetest.Check(d.Office())
		if err != nil || len(l.Messages) != 3 {
			t.Fatalf("killed after call %d: %d messages, %v", n, len(l.Messages), err)
		}
		if !killed {
			return
		}
	}
}
