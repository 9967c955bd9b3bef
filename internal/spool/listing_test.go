package spool

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// grown is a mailbox whose inbox held very many messages and is nearly empty.
type grown struct {
	*testing.T
	Box
	mem    *vfs.Mem
	now    time.Time
	fault  *vfs.Fault
	boot   string
	denied bool
}

const left = "2026-05-30T14-03-11-123Z-0000-5a5f24e5.json"

func newGrown(t *testing.T) *grown {
	t.Helper()
	g := &grown{T: t, now: time.Date(2026, 5, 30, 14, 3, 11, 123_456_789, time.UTC), boot: "b1"}
	g.mem = vfs.NewMem(func() time.Time { return g.now })
	g.use(&vfs.Fault{})
	if err := g.Make(); err != nil {
		t.Fatal(err)
	}
	for i := range 2100 {
		g.put(fmt.Sprint(i))
	}
	for i := range 2100 {
		if err := g.mem.Remove(g.Path(Inbox, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	g.put(left)
	g.now = g.now.Add(time.Minute)
	return g
}

// use makes the mailbox that of a process whose calls f counts.
func (g *grown) use(f *vfs.Fault) { g.fault, g.Box = f, Box{FS: f.Wrap(g.mem), Dir: "box"} }

func (g *grown) put(name string) {
	if err := g.mem.Mkdir("box/inbox/"+name, 0o700); err != nil {
		g.Fatal(err)
	}
}

// look lists the inbox, fails unless that is right, and reports whether the
// directory itself was read.
func (g *grown) look() (read bool) {
	g.Helper()
	got, err := g.Waiting(func() string { return g.boot }, func() bool { return !g.denied })
	if err != nil {
		g.Fatal(err)
	}
	want, err := g.mem.ReadNames("box/inbox")
	if err != nil {
		g.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		g.Fatalf("the inbox has %q and was listed as %q", want, got)
	}
	return slices.ContainsFunc(g.fault.Calls(), func(c vfs.Call) bool { return c.Op == "readnames" })
}

func (g *grown) wantRead(want bool, when string) {
	g.Helper()
	g.use(&vfs.Fault{})
	if got := g.look(); got != want {
		g.Fatalf("%s: the directory was read: %v", when, got)
	}
}

func TestListingIsRemembered(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	g.denied = true
	g.wantRead(true, "who may not write")
	g.wantRead(true, "who may not write remembers nothing")
	g.denied = false
	g.wantRead(true, "at first")
	g.wantRead(false, "unchanged")
	g.boot = "b2"
	g.wantRead(true, "after a crash")
	g.wantRead(false, "unchanged since")
	g.boot = ""
	g.wantRead(true, "where nobody knows the boot")
	g.boot = "b2"
	g.put("new.json")
	g.wantRead(true, "changed")
	g.wantRead(true, "changed a moment ago: not settled")
	g.now = g.now.Add(settled)
	g.wantRead(true, "settled")
	g.wantRead(false, "settled and remembered")
	g.now = g.now.Add(-time.Hour)
	g.put("after the clock was set back.json")
	g.wantRead(true, "changed at an earlier time")
	g.now = g.now.Truncate(time.Second)
	g.put("coarse.json")
	g.now = g.now.Add(time.Minute)
	g.wantRead(true, "a stamp of whole seconds")
	g.wantRead(true, "a stamp of whole seconds is never trusted")
}

// Mail that comes before any call of a look is seen by the next one.
func TestListingWhileMailComes(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		g := newGrown(t)
		g.use(&vfs.Fault{})
		came := false
		g.fault.Before(func(c vfs.Call) {
			if c.N == n {
				came = true
				g.put("new.json")
			}
		})
		if _, err := g.Waiting(func() string { return g.boot }, func() bool { return true }); err != nil {
			t.Fatal(n, err)
		}
		if !came {
			if n < 8 {
				t.Fatalf("a look took %d calls only", n)
			}
			return
		}
		g.use(&vfs.Fault{})
		g.look()
		g.now = g.now.Add(time.Minute)
		g.look()
		g.wantRead(false, "settled")
	}
}

// Whatever a crash or a fault leaves of the file, nothing is listed wrongly.
func TestListingTorn(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	g.look()
	whole, _, err := ReadFile(g.mem, "box/"+Listing, maxListing)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 1 {
		if err := Replace(g.mem, "box", Listing, whole[:n]); err != nil {
			t.Fatal(err)
		}
		g.wantRead(n < len(whole), fmt.Sprintf("%d of %d bytes", n, len(whole)))
	}
	for n := range 20 {
		g := newGrown(t)
		g.use(&vfs.Fault{})
		g.fault.FailAt(n+1, fs.ErrPermission)
		g.Waiting(func() string { return g.boot }, func() bool { return true })
		g.use(&vfs.Fault{})
		g.look()
		g.look()
	}
}

// A message that was there already when it was delivered may have come with a
// crash: what is remembered of the inbox counts no more.
func TestDeliverForgetsTheListing(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	id := mail.ID(strings.TrimSuffix(left, ext))
	if err := g.mem.Remove("box/inbox/" + left); err != nil {
		t.Fatal(err)
	}
	src := Source{FS: g.FS, Data: []byte("{}")}
	if how, err := g.Deliver(src, id); how != Fresh || err != nil {
		t.Fatal(how, err)
	}
	g.now = g.now.Add(time.Minute)
	g.look()
	g.wantRead(false, "remembered")
	if how, err := g.Deliver(src, id); how != Already || err != nil {
		t.Fatal(how, err)
	}
	g.wantRead(true, "delivered again")
}
