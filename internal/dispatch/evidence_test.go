package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
)

// bell is an adapter that always gets through.
type bell struct{}

func (bell) Kind() string                          { return "bell" }
func (bell) Check(args []string) ([]string, error) { return args, nil }
func (bell) Notify(context.Context, notify.Agent, notify.Pointer) (notify.Outcome, error) {
	return notify.Outcome{State: notify.Notified, Evidence: "bell: rang"}, nil
}

// belled is an office with a message for coder, who is woken by the bell.
func belled(t *testing.T) (*officetest.Desk, registry.Entry) {
	d := officetest.NewDesk(t, "ann", "coder")
	d.Edit(func(r *registry.Registry) error {
		return r.Update("a-coder", func(e *registry.Entry) { e.Notify = []string{"bell"} })
	})
	d.Send("ann", mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "s", Body: "b"})
	d.Pass()
	reg, err := d.Office().Registry()
	if err != nil {
		t.Fatal(err)
	}
	e, _ := reg.Entry("coder")
	return d, e
}

func dispatcher(d *officetest.Desk) *Dispatcher {
	return New(d.Office(), notify.NewTable(notify.None{}, bell{}), "post")
}

// notified returns the evidence in the journal.
func notified(t *testing.T, o *office.Office) (list []string) {
	t.Helper()
	err := journal.Each(o.FS, time.Time{}, time.Time{}, func(r journal.Record) error {
		if r.Event == journal.Notified {
			list = append(list, r.Detail["evidence"])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Whoever wakes journals the evidence: nobody has to think of it.
func TestWakeIsJournalled(t *testing.T) {
	t.Parallel()
	d, coder := belled(t)
	if w := dispatcher(d).Wake(t.Context(), []registry.Entry{coder}); len(w) != 1 || !w[0].Surfaced() {
		t.Fatalf("%+v", w)
	}
	if list := notified(t, d.Office()); len(list) != 1 || list[0] != "bell: rang" {
		t.Errorf("journal: %q", list)
	}
}

// Somebody else routes for longer than Flush tries, and this process ends: the
// next pass over all mailboxes journals what it left, once.
func TestEvidenceIsLeftForTheNextPass(t *testing.T) {
	t.Parallel()
	d, coder := belled(t)
	lease, err := spool.AcquireLease(d.Office().FS, spool.Holder{PID: 1, Host: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if w := dispatcher(d).Wake(t.Context(), []registry.Entry{coder}); len(w) != 1 || !w[0].Surfaced() {
		t.Fatalf("%+v", w)
	}
	lease.Release()
	if list := notified(t, d.Office()); len(list) != 0 {
		t.Fatalf("journalled without the lease: %q", list)
	}
	for range 2 {
		if _, _, err := dispatcher(d).Pass(t.Context(), router.Options{All: true}); err != nil {
			t.Fatal(err)
		}
	}
	if list := notified(t, d.Office()); len(list) != 1 || list[0] != "bell: rang" {
		t.Errorf("journal: %q", list)
	}
	if notify.AnyLeft(d.Office().FS) {
		t.Error("it is still there")
	}
}
