//go:build !race

package router_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
)

// Mail to another station: the sender, the pass, the link that carries it away
// and notes what it heard, the pass that takes that into the journal.
func TestCrashToFar(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "coder")
	c.Far("us", "lab", "bob")
	c.still = append(c.still, "office/agents/bob@lab/outbox", "office/agents/coder/outbox/.sent")
	c.after = wrote(1, 0)
	arrive := func() {
		b := c.Box("bob@lab")
		items, err := b.List(true)
		if err != nil || len(items) != 1 {
			t.Fatalf("%+v %v", items, err)
		}
		c.FarReceipt("bob@lab", mail.EventSent, items[0].ID, "the hub")
		c.FarReceipt("bob@lab", mail.EventArrived, items[0].ID, "lab inbox 12")
		if _, err := b.Author.Box.Finish(items[0].ID, c.Sys.Batch()); err != nil {
			t.Fatal(err)
		}
	}
	c.watch(c.send("coder", mailbox.Draft{To: []string{"bob"}, Act: mail.Request, Subject: "Look", Body: "Please."}), c.pass, arrive, c.pass)
}

// Mail from another station: the link puts it there, a pass delivers it.
func TestCrashFromFar(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "coder")
	c.Far("us", "lab", "bob")
	const id = mail.ID("2026-05-30T14-03-11-123Z-0004-a1b2c3d4")
	c.after = func(_ *testing.T, d *officetest.Desk, l *officetest.Ledgers) error {
		debts, err := open(d)
		if n := mails(l); err != nil || n > 1 || len(debts) != n || n == 1 && l.Messages[id] == nil {
			return fmt.Errorf("%d messages, %d debts, %v", n, len(debts), err)
		}
		return nil
	}
	c.watch(func() {
		c.FarMail("bob@lab", &mail.Message{To: "coder", Act: mail.Request, Subject: "Look", Body: "Please.", ID: id})
	}, func() { c.route(router.Options{All: true}) })
}

// An id that another message has: told once, whatever happens.
func TestCrashFarConflict(t *testing.T) {
	t.Parallel()
	c := newCrash(t, "coder", "tester")
	c.Far("us", "lab", "bob")
	ours := c.Send("tester", mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "Ours", Body: "ours"})
	c.Pass()
	c.FarMail("bob@lab", &mail.Message{ID: ours.ID, To: "coder", Act: mail.Inform, Subject: "Theirs", Body: "theirs"})
	c.after = func(_ *testing.T, d *officetest.Desk, l *officetest.Ledgers) error {
		told, err := d.Box("bob@lab").List(false)
		if err != nil || len(told) != 1 || !slices.Equal(l.Held[ours.ID], []string{"a-coder"}) {
			return fmt.Errorf("told %+v, ours is with %v, %v", told, l.Held[ours.ID], err)
		}
		return nil
	}
	c.watch(func() {
		if _, err := c.Router().Pass(t.Context(), router.Options{All: true}); err != nil {
			t.Fatal(err)
		}
	})
}
