package serve

import (
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/vfs"
)

func manyPlaces(t *testing.T, n int) (*watch, *vfs.Mem, *officetest.Clock) {
	t.Helper()
	clock := officetest.NewClock()
	mem := vfs.NewMem(clock.Now)
	var list []place
	for i := range n {
		name := fmt.Sprintf("d%04d", i)
		if err := mem.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		list = append(list, place{fsys: mem, name: name, tag: name})
	}
	w := newWatch(slog.New(slog.NewTextHandler(io.Discard, nil)), false)
	w.set(list)
	return w, mem, clock
}

// TestLookSeesAll: a look has a bounded price, and a few of them see every place.
func TestLookSeesAll(t *testing.T) {
	t.Parallel()
	const n = 2*perLook + 100
	w, mem, clock := manyPlaces(t, n)
	var td todo
	rounds := n/perLook + 1
	for range rounds {
		w.look(&td)
	}
	td = todo{}
	for range rounds {
		w.look(&td)
	}
	if !td.empty() {
		t.Fatalf("nothing changed: %+v", td)
	}
	clock.Advance(1e9)
	if err := mem.Mkdir("d0555/new", 0o700); err != nil {
		t.Fatal(err)
	}
	for range rounds {
		w.look(&td)
	}
	if td.all || len(td.tags) != 1 || !td.tags["d0555"] {
		t.Fatalf("%+v", td)
	}
}

func TestNote(t *testing.T) {
	t.Parallel()
	w, mem, _ := manyPlaces(t, 2)
	dir := mem.Path("d0001")
	for _, c := range []struct {
		name string
		op   fsnotify.Op
		want bool
	}{
		{"/m.json", fsnotify.Create, true},
		{"/m.json", fsnotify.Write, true},
		{"/m.json", fsnotify.Remove, false}, // what a pass does itself
		{"/m.json", fsnotify.Rename, false},
		{"/m.json", fsnotify.Chmod, false},
		{"/.tmp-m.json", fsnotify.Create, false},
		{"/note.txt", fsnotify.Write, false},
		{"/.sent/m.json", fsnotify.Create, false},
	} {
		var td todo
		w.note(fsnotify.Event{Name: dir + c.name, Op: c.op}, &td)
		if td.empty() == c.want || c.want && !td.tags["d0001"] {
			t.Errorf("%s %s: %+v", c.op, c.name, td)
		}
	}
}

// TestLookAllIsNoNews: what was there at the start is no news to the looks after
// it, nor when the address book is read again; what came meanwhile is.
func TestLookAllIsNoNews(t *testing.T) {
	t.Parallel()
	const n = perLook + 10
	w, mem, clock := manyPlaces(t, n)
	var td todo
	w.lookAll(&td)
	if !td.all {
		t.Fatal("nothing seen at first")
	}
	list := append([]place{{fsys: mem, name: "new", tag: "new"}}, w.places...)
	for i := range list {
		list[i].seen = state{}
	}
	td = todo{}
	w.set(list)
	clock.Advance(1e9)
	if err := mem.Mkdir("new", 0o700); err != nil {
		t.Fatal(err)
	}
	w.look(&td)
	w.look(&td)
	if td.all || len(td.tags) != 1 || !td.tags["new"] {
		t.Fatalf("%+v", td)
	}
}
