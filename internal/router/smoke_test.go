package router_test

import (
	"context"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

// desk is one office under test.
type desk struct {
	t     *testing.T
	clock *officetest.Clock
	sys   office.System
}

func newDesk(t *testing.T, agents ...string) *desk {
	t.Helper()
	clock := officetest.NewClock()
	mem := vfs.NewMem(clock.Now)
	if err := mem.Mkdir("office", 0o700); err != nil {
		t.Fatal(err)
	}
	sub, err := mem.Sub("office")
	if err != nil {
		t.Fatal(err)
	}
	officetest.Make(t, sub, clock.Now(), agents...)
	mem.SyncAll()
	return &desk{t: t, clock: clock, sys: officetest.System(clock, func(dir string) (vfs.FS, error) { return mem.Sub(strings.TrimPrefix(dir, "/")) })}
}

func (d *desk) office() *office.Office {
	d.t.Helper()
	o, err := office.Open(officetest.Dir, d.sys)
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *desk) box(name string) *mailbox.Mailbox {
	d.t.Helper()
	m, err := mailbox.Open(d.office(), name)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

func (d *desk) send(from string, draft mailbox.Draft) *mail.Message {
	d.t.Helper()
	sent, err := d.box(from).Send(draft)
	if err != nil {
		d.t.Fatal(err)
	}
	if sent[0].Err != nil {
		d.t.Fatal(sent[0].Err)
	}
	return sent[0].Msg
}

func (d *desk) pass() router.Report {
	d.t.Helper()
	rep, err := (&router.Router{Office: d.office()}).Pass(context.Background(), router.Options{All: true})
	if err != nil {
		d.t.Fatal(err)
	}
	return rep
}

func TestConversation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "researcher", "coder")
	req := d.send("researcher", mailbox.Draft{To: []string{"coder"}, Act: mail.Request, Subject: "Review", Body: "Please look."})
	rep := d.pass()
	if len(rep.Results) != 1 || rep.Results[0].Fates[0].State != router.Delivered {
		t.Fatalf("%+v", rep)
	}
	items, err := d.box("coder").List(true)
	if err != nil || len(items) != 1 || items[0].ID != req.ID || !items[0].Obliges {
		t.Fatalf("%+v %v", items, err)
	}
	reply, err := d.box("coder").ReplyDraft(req.ID)
	if err != nil {
		t.Fatal(err)
	}
	reply.Act, reply.Body = mail.Done, "Looks right."
	d.send("coder", reply)
	d.pass()
	owed, err := d.box("researcher").Owed("")
	if err != nil || len(owed) != 0 {
		t.Fatalf("%+v %v", owed, err)
	}
	life, err := d.box("researcher").Trace(req.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", life.Steps)
}
