package officetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/vfs"
)

// RealDesk is an office on the real file system, for tests that look at what is on
// the disk: messages go the whole way, through mailbox and router.
type RealDesk struct {
	T     testing.TB
	Clock *Clock
	Sys   office.System
	Dir   string // of the office
	Root  string // everything of this test is in here
}

// NewRealDesk makes an office with agents (aid "a-"+name) in a temporary directory.
func NewRealDesk(t testing.TB, agents ...string) *RealDesk {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	clock := NewClock()
	sys := System(clock, func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) })
	sys.Parallel = 8
	d := &RealDesk{T: t, Clock: clock, Sys: sys, Dir: filepath.Join(root, "office"), Root: root}
	if _, _, err := office.Create(d.Dir, sys, office.CreateOptions{PersonCheck: config.PersonCheckOff}); err != nil {
		t.Fatal(err)
	}
	for _, name := range agents {
		d.Join(name, "")
	}
	return d
}

// Join registers an agent; its mailbox is in the directory outside, or in the
// office if that is "".
func (d *RealDesk) Join(name, outside string) {
	d.T.Helper()
	o, reg := d.Office(), d.Registry()
	dir := filepath.Join(d.Dir, office.AgentsDir, name)
	var err error
	if outside == "" {
		err = o.SystemBox(name).Make()
	} else {
		dir = outside
		err = o.MakeOutside(dir, name, "a-"+name)
	}
	d.must(err)
	d.must(reg.Add(registry.Entry{Name: name, AID: "a-" + name, InboxPath: filepath.Join(dir, "inbox"),
		Transcript: "_inbox_" + name + ".md", Notify: []string{"none"}, Joined: d.Clock.Now()}))
	d.must(reg.Save(o.FS))
}

func (d *RealDesk) must(err error) {
	d.T.Helper()
	if err != nil {
		d.T.Fatal(err)
	}
}

// Office opens the office anew.
func (d *RealDesk) Office() *office.Office {
	d.T.Helper()
	o, err := office.Open(d.Dir, d.Sys)
	d.must(err)
	return o
}

// Registry loads the address book.
func (d *RealDesk) Registry() *registry.Registry {
	d.T.Helper()
	reg, err := d.Office().Registry()
	d.must(err)
	return reg
}

// Box opens a mailbox.
func (d *RealDesk) Box(name string) *mailbox.Mailbox {
	d.T.Helper()
	m, err := mailbox.Open(d.Office(), name)
	d.must(err)
	return m
}

// Send stores one message in an outbox.
func (d *RealDesk) Send(from, to string, act mail.Act, subject, body string) mail.ID {
	d.T.Helper()
	sent, err := d.Box(from).Send(mailbox.Draft{To: []string{to}, Act: act, Subject: subject, Body: body, Again: true})
	d.must(err)
	d.must(sent[0].Err)
	return sent[0].Msg.ID
}

// Pass routes everything. The lease may seem held for a moment: a child that
// another test starts has our files open until it execs.
func (d *RealDesk) Pass() router.Report {
	d.T.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		rep, err := (&router.Router{Office: d.Office()}).Pass(context.Background(), router.Options{All: true})
		if mail.KindOf(err) == mail.KindBusy && time.Now().Before(end) {
			continue
		}
		d.must(err)
		return rep
	}
}

// Mail sends one message and routes it.
func (d *RealDesk) Mail(from, to string, act mail.Act, subject, body string) mail.ID {
	d.T.Helper()
	id := d.Send(from, to, act, subject, body)
	d.Pass()
	return id
}

// Path joins names under the office.
func (d *RealDesk) Path(elem ...string) string {
	return filepath.Join(append([]string{d.Dir}, elem...)...)
}

// Edit changes a file in place, as somebody with an editor would: the file gets
// another inode, so that what is linked to it stays what it was.
func (d *RealDesk) Edit(path string, change func(string) string) {
	d.T.Helper()
	data, err := os.ReadFile(path)
	d.must(err)
	text := change(string(data))
	if text == string(data) {
		d.T.Fatalf("nothing to change in %s", path)
	}
	d.must(os.WriteFile(path+"~", []byte(text), 0o600))
	d.must(os.Rename(path+"~", path))
}
