package router_test

import (
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/spool"
)

// records lists what the journal says of a message, "event agent" each.
func records(t *testing.T, d *officetest.Desk, id mail.ID) (list []string) {
	t.Helper()
	err := journal.EachMatching(d.Office().FS, id.Time().AddDate(0, 0, -2), []byte(id), func(r journal.Record) error {
		if r.ID == id {
			list = append(list, strings.TrimSpace(r.Event+" "+r.Agent))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What the link puts into a far author's outbox is delivered under its own id,
// though the id's tag is nobody's.
func TestFarMail(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder", "tester")
	d.Far("us", "lab", "bob")
	m := d.FarMail("bob@lab", &mail.Message{To: "coder", CC: []string{"tester"}, Act: mail.Request, Subject: "Review", Body: "Please."})
	d.Pass()
	for _, name := range []string{"coder", "tester"} {
		items, err := d.Box(name).List(true)
		if err != nil || len(items) != 1 || items[0].ID != m.ID || items[0].From != "bob@lab" {
			t.Fatalf("%s: %+v %v", name, items, err)
		}
	}
	settled(t, d)
}

// A far agent's inbox keeps our mail until the link has the far station's word.
func TestFarReceipts(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder", "tester")
	d.Far("us", "lab", "bob")
	m := d.Send("coder", mailbox.Draft{To: []string{"bob@lab"}, Act: mail.Request, Subject: "Look", Body: "Please."})
	d.Pass()
	if where, err := d.Box("bob@lab").Author.Box.Where(m.ID); err != nil || where != spool.Waiting {
		t.Fatal(where, err)
	}
	d.FarReceipt("bob@lab", mail.EventSent, m.ID, "hub")
	d.FarReceipt("bob@lab", mail.EventArrived, m.ID, "lab inbox 12")
	d.FarReceipt("bob@lab", mail.EventRead, m.ID, "lab")
	d.FarReceipt("bob@lab", mail.EventArrived, "2026-05-30T14-03-11-123Z-0004-a1b2c3d4", "nothing of ours")
	d.Pass()
	got := strings.Join(records(t, d, m.ID), ", ")
	if !strings.Contains(got, "delivered bob@lab, ") || !strings.HasSuffix(got, "sent bob@lab, arrived bob@lab, read bob@lab") {
		t.Fatal(got)
	}
	settled(t, d)
}

// An agent of this office is no link: it may not say that mail has arrived.
func TestLinkEventsOfOursCountNothing(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder", "tester")
	m := d.Send("coder", mailbox.Draft{To: []string{"tester"}, Act: mail.Inform, Subject: "Look", Body: "There."})
	d.Pass()
	d.FarReceipt("tester", mail.EventRefused, m.ID, "no")
	d.Pass()
	if got := strings.Join(records(t, d, m.ID), ", "); strings.Contains(got, "refused") {
		t.Fatal(got)
	}
}

// Nobody but the link writes for a far agent, and what is no message of the
// link's tells the far station nothing.
func TestFarGarbage(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	d.Write("bob@lab", "note.json", `{"to":"coder","act":"inform","subject":"x","body":"y"}`)
	d.Write("bob@lab", "torn.json", `{"to":"co`)
	d.Clock.Advance(10e9)
	d.Pass()
	box := d.Box("bob@lab").Author.Box
	for _, name := range []string{"note.json", "torn.json"} {
		if ok, err := spool.Exists(box.FS, box.Path(spool.Failed, name)); err != nil || !ok {
			t.Errorf("%s is not in .failed: %v", name, err)
		}
	}
	for _, name := range []string{"coder", "bob@lab"} {
		if items, err := d.Box(name).List(false); err != nil || len(items) > 0 {
			t.Errorf("%s got %+v %v", name, items, err)
		}
	}
}

// An id that another message has is refused, loudly, and changes nothing.
func TestFarIDTaken(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder", "tester")
	d.Far("us", "lab", "bob")
	ours := d.Send("tester", mailbox.Draft{To: []string{"coder"}, Act: mail.Inform, Subject: "Ours", Body: "ours"})
	d.Pass()
	d.FarMail("bob@lab", &mail.Message{ID: ours.ID, To: "coder", Act: mail.Inform, Subject: "Theirs", Body: "theirs"})
	d.Pass()
	items, err := d.Box("coder").List(false)
	if err != nil || len(items) != 1 || items[0].From != "tester" {
		t.Fatalf("%+v %v", items, err)
	}
	box := d.Box("bob@lab").Author.Box
	if ok, err := spool.Exists(box.FS, box.Path(spool.Failed, spool.FileName(ours.ID))); err != nil || !ok {
		t.Fatal(ok, err)
	}
	told, err := d.Box("bob@lab").List(false)
	if err != nil || len(told) != 1 || told[0].From != "postroom" || !strings.Contains(told[0].Subject, "Theirs") {
		t.Fatalf("%+v %v", told, err)
	}
	if got := strings.Join(records(t, d, ours.ID), ", "); strings.Contains(got, "bounced") {
		t.Fatalf("our message's life says: %s", got)
	}
	d.Pass()
	if again, _ := d.Box("bob@lab").List(false); len(again) != 1 {
		t.Fatalf("told again: %+v", again)
	}
}

// A far clock that is years ahead changes no id.
func TestFarFutureID(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	m := d.FarMail("bob@lab", &mail.Message{ID: "2031-05-30T14-03-11-123Z-0004-a1b2c3d4", To: "coder", Act: mail.Inform, Subject: "s", Body: "b"})
	d.Pass()
	if items, err := d.Box("coder").List(true); err != nil || len(items) != 1 || items[0].ID != m.ID {
		t.Fatalf("%+v %v", items, err)
	}
}
