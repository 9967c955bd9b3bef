package router_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// TestMailboxMovedAway: a long-lived process delivers to where the registry's
// path leads today, not to the directory that it once opened there.
func TestMailboxMovedAway(t *testing.T) {
	t.Parallel()
	d := officetest.NewDesk(t, "researcher")
	if err := d.Mem.Mkdir("coder", 0o700); err != nil {
		t.Fatal(err)
	}
	d.Join("coder", "/coder")
	r := d.Router()
	for i := range 2 {
		m := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: fmt.Sprint(i)})
		if _, err := r.Pass(t.Context(), router.Options{All: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Mem.Lstat("coder/inbox/" + spool.FileName(m.ID)); err != nil {
			t.Error(i, err)
		}
		if i == 0 {
			if err := errors.Join(d.Mem.Rename("coder", "old"), d.Mem.Mkdir("coder", 0o700)); err != nil {
				t.Fatal(err)
			}
			sub, err := d.Mem.Sub("coder")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join((spool.Box{FS: sub, Dir: "."}).Make(), officetest.Point(sub, "coder")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestMailboxPointedElsewhere: mallory's path leads to somebody else's mailbox.
func TestMailboxPointedElsewhere(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"in the office": "office/agents/researcher", "of another": "writer", "of nobody": "empty"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := officetest.NewDesk(t, "researcher", "coder")
			for _, dir := range []string{"mallory", "writer", "empty"} {
				if err := d.Mem.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			d.Join("mallory", "/mallory")
			d.Join("writer", "/writer")
			// In memory no path leads through a symlink; opening does here.
			open := d.Sys.OpenFS
			d.Sys.OpenFS = func(dir string) (vfs.FS, error) {
				if dir == "/mallory" {
					dir = "/" + target
				}
				return open(dir)
			}
			a := d.Send("researcher", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "a"})
			b := d.Send("writer", mailbox.Draft{To: []string{"coder"}, Subject: "s", Body: "b"})
			d.Send("coder", mailbox.Draft{To: []string{"mallory"}, Subject: "s", Body: "c"})
			tryPass(d, router.Options{All: true, Own: "a-mallory"})
			l, err := officetest.Check(d.Office(), "mallory")
			if err != nil {
				t.Fatal(err)
			}
			for id, from := range map[mail.ID]string{a.ID: "researcher", b.ID: "writer"} {
				if m := l.Messages[id]; m == nil || m.From != from || len(l.Held[id]) != 1 {
					t.Errorf("of %s: %+v", from, m)
				}
			}
			if len(l.Messages) != 3 {
				t.Errorf("%d messages", len(l.Messages))
			}
		})
	}
}
