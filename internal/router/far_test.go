package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/router"
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

// A far message that is held goes on, under its id, when a person lets it.
func TestFarHeldAndReleased(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	m := d.FarMail("bob@lab", &mail.Message{To: "coder", Act: mail.Request, Subject: "Again", Body: "Again?", Hops: 13, InReplyTo: "2026-05-30T14-00-00-000Z-0000-0123abcd"})
	d.Pass()
	asked, err := approval.Open(d.Office().FS)
	if err != nil || len(asked) != 1 || asked[0].Kind != policy.Release || asked[0].Asker != "bob@lab" {
		t.Fatalf("%+v %v", asked, err)
	}
	if items, _ := d.Box("coder").List(true); len(items) != 1 || items[0].From != "postroom" {
		t.Fatalf("%+v", items)
	}
	if err := approval.Decide(d.Office().FS, asked[0].ID, approval.Decision{By: "human", At: d.Clock.Now(), Choice: "deliver"}); err != nil {
		t.Fatal(err)
	}
	d.Pass()
	if where, err := d.Box("coder").Author.Box.Where(m.ID); err != nil || where != spool.Waiting {
		t.Fatal(where, err)
	}
	settled(t, d)
}

// A far agent asks our person; the answer goes to it, as from human.
func TestFarQuestion(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	m := d.FarMail("bob@lab", &mail.Message{To: "human", Act: mail.Query, Subject: "May I?", Body: "May I?"})
	d.Pass()
	asked, err := approval.Open(d.Office().FS)
	if err != nil || len(asked) != 1 || asked[0].Kind != policy.Question {
		t.Fatalf("%+v %v", asked, err)
	}
	if err := approval.Decide(d.Office().FS, asked[0].ID, approval.Decision{By: "human", At: d.Clock.Now(), Text: "Yes."}); err != nil {
		t.Fatal(err)
	}
	d.Pass()
	items, err := d.Box("bob@lab").List(true)
	if err != nil || len(items) != 1 || items[0].From != "human" {
		t.Fatalf("%+v %v", items, err)
	}
	if answer, err := d.Box("bob@lab").Open(items[0].ID); err != nil || answer.InReplyTo != m.ID {
		t.Fatalf("%+v %v", answer, err)
	}
	settled(t, d)
}

// A debt across stations: owed by ours, settled by our answer; and the other way.
func TestFarDebts(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	theirs := d.FarMail("bob@lab", &mail.Message{To: "coder", Act: mail.Request, Subject: "Review", Body: "Please."})
	ours := d.Send("coder", mailbox.Draft{To: []string{"bob"}, Act: mail.Query, Subject: "When?", Body: "When?"})
	if ours.To != "bob@lab" || ours.Station != "us" {
		t.Fatalf("stamped to %q at %q", ours.To, ours.Station)
	}
	d.Pass()
	owed, err := d.Box("coder").Owed("")
	if err != nil || len(owed) != 2 {
		t.Fatalf("%+v %v", owed, err)
	}
	reply, err := d.Box("coder").ReplyDraft(theirs.ID)
	if err != nil || len(reply.To) != 1 || reply.To[0] != "bob@lab" {
		t.Fatalf("%+v %v", reply, err)
	}
	reply.Act, reply.Body = mail.Done, "Done."
	d.Send("coder", reply)
	d.FarMail("bob@lab", &mail.Message{To: "coder", Act: mail.Inform, Subject: "Re: When?", Body: "Now.", InReplyTo: ours.ID, Hops: 1})
	d.Pass()
	if owed, err := d.Box("coder").Owed(""); err != nil || len(owed) != 0 {
		t.Fatalf("%+v %v", owed, err)
	}
	settled(t, d)
}

// An overdue far debtor is reminded through its mailbox here.
func TestFarOverdue(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	d.Send("coder", mailbox.Draft{To: []string{"bob@lab"}, Act: mail.Request, Subject: "Look", Body: "Please."})
	d.Pass()
	d.Clock.Advance(2 * time.Hour)
	d.Pass()
	items, err := d.Box("bob@lab").List(true)
	if err != nil || len(items) != 2 || items[1].From != "postroom" || !strings.HasPrefix(items[1].Subject, "You owe") && items[1].Act != string(mail.Inform) {
		t.Fatalf("%+v %v", items, err)
	}
	settled(t, d)
}

// What another office says is terminal, and what it cannot tell anybody here is
// put before a person.
func TestFarOffice(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	m := d.FarMail("postroom@lab", &mail.Message{To: "coder", Act: mail.Inform, Subject: "Not delivered: x", Body: "No."})
	d.FarMail("postroom@lab", &mail.Message{To: "gone", Act: mail.Inform, Subject: "Not delivered: y", Body: "No."})
	d.Pass()
	if items, err := d.Box("coder").List(true); err != nil || len(items) != 1 || items[0].From != "postroom@lab" || items[0].Obliges {
		t.Fatalf("%+v %v", items, err)
	}
	if _, err := d.Box("coder").Send(mailbox.Draft{To: []string{"bob@lab"}, InReplyTo: m.ID, Body: "But…"}); mail.KindOf(err) != mail.KindTerminal {
		t.Fatalf("a reply to an office: %v", err)
	}
	asked, err := approval.Open(d.Office().FS)
	if err != nil || len(asked) != 1 || asked[0].Kind != policy.Notice || !strings.Contains(asked[0].Why, "postroom@lab could not tell") {
		t.Fatalf("%+v %v", asked, err)
	}
	if items, err := d.Box("postroom@lab").List(false); err != nil || len(items) != 0 {
		t.Fatalf("somebody wrote to an office: %+v %v", items, err)
	}
	settled(t, d)
}

// A far author's message to nobody of this office bounces to it, once, and to no
// third station.
func TestFarBounce(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	d.Far("us", "zoo", "eve")
	d.FarMail("bob@lab", &mail.Message{To: "eve@zoo", Act: mail.Request, Subject: "Pass it on", Body: "Please."})
	d.Pass()
	d.Pass()
	if items, err := d.Box("eve@zoo").List(false); err != nil || len(items) != 0 {
		t.Fatalf("relayed: %+v %v", items, err)
	}
	items, err := d.Box("bob@lab").List(true)
	if err != nil || len(items) != 1 || items[0].From != "postroom" {
		t.Fatalf("%+v %v", items, err)
	}
	settled(t, d)
}

// A debt that is waived at one station is none at the other: our waiver says so
// in the notice, and theirs settles what ours owe.
func TestFarWaived(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	theirs := d.FarMail("bob@lab", &mail.Message{To: "coder", Act: mail.Request, Subject: "Review", Body: "Please."})
	ours := d.Send("coder", mailbox.Draft{To: []string{"bob"}, Act: mail.Query, Subject: "When?", Body: "When?"})
	d.Pass()
	if _, err := d.Router().Pass(t.Context(), router.Options{All: true, Orders: []router.Order{{ID: ours.ID, Waive: true}}}); err != nil {
		t.Fatal(err)
	}
	items, err := d.Box("bob@lab").List(true)
	if err != nil || len(items) != 2 {
		t.Fatalf("%+v %v", items, err)
	}
	if notice, err := d.Box("bob@lab").Open(items[1].ID); err != nil || notice.From != "postroom" || !notice.Waives() || notice.InReplyTo != ours.ID {
		t.Fatalf("%+v %v", notice, err)
	}
	waiver := &mail.Message{To: "coder", Act: mail.Inform, Subject: "Waived", Body: "Nothing is expected.", InReplyTo: theirs.ID}
	waiver.SetWaives()
	d.FarMail("postroom@lab", waiver)
	d.Pass()
	if owed, err := d.Box("coder").Owed(""); err != nil || len(owed) != 0 {
		t.Fatalf("%+v %v", owed, err)
	}
	settled(t, d)
}
