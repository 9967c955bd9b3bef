package router_test

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// What the same process has just stored is not read again; if its owner wrote to
// it meanwhile, or put another file there, it is.
func TestStoredIsLookedAt(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(box spool.Box, path string, data []byte) error{
		"untouched": func(spool.Box, string, []byte) error { return nil },
		"written to": func(box spool.Box, path string, data []byte) error {
			f, err := box.FS.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				_, err = f.WriteAt(data, 0)
			}
			return err
		},
		"replaced": func(box spool.Box, path string, data []byte) error {
			dir := box.Path(spool.Outbox)
			return spool.Replace(box.FS, dir, path[len(dir)+1:], data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "researcher", "coder")
			o := d.Office()
			m, err := mailbox.Open(o, "researcher")
			if err != nil {
				t.Fatal(err)
			}
			sent, err := m.Send(item("1"))
			if err != nil || sent[0].Err != nil {
				t.Fatal(err, sent)
			}
			box, path := m.Author.Box, m.Author.Box.Path(spool.Outbox, spool.FileName(sent[0].Msg.ID))
			data, _, err := spool.ReadMail(box.FS, path)
			if err != nil {
				t.Fatal(err)
			}
			d.Clock.Advance(time.Second)
			want := data
			if name != "untouched" {
				want = bytes.Replace(data, []byte("Lunch"), []byte("Lurch"), 1)
			}
			if err := change(box, path, want); err != nil {
				t.Fatal(err)
			}
			opens := reads(d, o, path)
			if (opens == 0) != (name == "untouched") {
				t.Errorf("the outbox file was opened %d times", opens)
			}
			l, err := officetest.Check(d.Office())
			if err != nil || len(l.Messages) != 1 {
				t.Fatalf("%d messages, %v", len(l.Messages), err)
			}
			for _, m := range l.Messages {
				if !bytes.Contains(want, []byte(m.Body[:5])) {
					t.Errorf("delivered %q, and the outbox had %s", m.Body, want)
				}
			}
		})
	}
}

// reads runs a pass in the same office and counts how often it opens path.
func reads(d *officetest.Desk, o *office.Office, path string) (n int) {
	d.T.Helper()
	inner := o.FS
	fault := &vfs.Fault{}
	o.FS = fault.Wrap(inner)
	defer func() { o.FS = inner }()
	if _, err := (&router.Router{Office: o}).Pass(context.Background(), router.Options{All: true}); err != nil {
		d.T.Fatal(err)
	}
	for _, c := range fault.Calls() {
		if c.Op == "open" && c.Name == path {
			n++
		}
	}
	return n
}
