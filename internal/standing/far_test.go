package standing_test

import (
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/standing"
)

// Of a far agent nothing is known here but what has not arrived there: it is
// neither down nor behind with reading.
func TestFarAgent(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "coder")
	d.Far("us", "lab", "bob")
	m := d.Send("coder", mailbox.Draft{To: []string{"bob@lab"}, Act: mail.Inform, Subject: "Look", Body: "There."})
	d.Pass()
	d.Clock.Advance(48 * time.Hour)
	look := func() standing.Agent {
		t.Helper()
		o := d.Office()
		x, err := standing.NewLooker(o, standing.View{})
		if err != nil {
			t.Fatal(err)
		}
		reg, err := o.Book()
		if err != nil {
			t.Fatal(err)
		}
		e, _ := reg.Entry("bob@lab")
		return x.Look(t.Context(), e)
	}
	v := look()
	unread, oldest := v.Mail(d.Clock.Now())
	if v.Presence != standing.Elsewhere || v.Word(d.Clock.Now()) != "at lab" || v.Leaving != 1 || v.Unread != 0 || v.Oldest != nil ||
		unread != "1 on the way" || oldest != "2d" || v.Behind != "" || v.Note() != "" || v.WokenBy(false) != "-" || v.Wake != nil || v.LastSeen != nil {
		t.Fatalf("%+v; %q, %q", v, unread, oldest)
	}
	d.FarReceipt("bob@lab", mail.EventArrived, m.ID, "lab inbox 1")
	if _, err := d.Box("bob@lab").Author.Box.Finish(m.ID, d.Sys.Batch()); err != nil {
		t.Fatal(err)
	}
	v = look()
	if unread, _ := v.Mail(d.Clock.Now()); v.Leaving != 0 || v.Since != nil || unread != "-" {
		t.Fatalf("%+v; %q", v, unread)
	}
}
