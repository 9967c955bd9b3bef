package router_test

import (
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
)

// settled fails the test unless the office tells one story.
func settled(t *testing.T, d *officetest.Desk) *officetest.Ledgers {
	t.Helper()
	l, err := officetest.Check(d.Office())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestConversation(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher", "coder")
	req := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please look."})
	rep := d.Pass()
	if len(rep.Results) != 1 || rep.Results[0].Fates[0].State != router.Delivered {
		t.Fatalf("%+v", rep)
	}
	items, err := d.Box("coder").List(true)
	if err != nil || len(items) != 1 || items[0].ID != req.ID || !items[0].Obliges {
		t.Fatalf("%+v %v", items, err)
	}
	reply, err := d.Box("coder").ReplyDraft(req.ID)
	if err != nil {
		t.Fatal(err)
	}
	reply.Act, reply.Body = mail.Done, "Looks right."
	d.Send("coder", reply)
	d.Pass()
	owed, err := d.Box("researcher").Owed("")
	if err != nil || len(owed) != 0 {
		t.Fatalf("%+v %v", owed, err)
	}
	if _, err := d.Box("researcher").Trace(req.ID); err != nil {
		t.Fatal(err)
	}
	settled(t, d)
}
