package serve

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// place is a directory, or a file, whose change means that a pass has something to
// do. There are two for each agent, so they are small and lie side by side.
type place struct {
	fsys vfs.FS
	name string // within fsys
	tag  string // of the author whose outbox comes first; "" looks at all
	seen state  // when last looked at
	node uint64 // the inode that is watched; 0: none
	// still places are looked at without asking for events: nobody waits for an
	// owner's receipts to be in the journal.
	still bool
}

// state is what tells whether something changed: cheap to get, and right but for
// what happens within one tick of the file system's clock, which the full pass
// catches.
type state struct {
	mtime int64 // Unix, ns
	size  int64
	inode uint64
}

func stateOf(fsys vfs.FS, name string) (state, bool) {
	fi, err := fsys.Lstat(name)
	if err != nil {
		return state{}, false
	}
	return stateFrom(fi), true
}

func stateFrom(fi fs.FileInfo) state {
	_, ino, _ := vfs.Inode(fi)
	return state{fi.ModTime().UnixNano(), fi.Size(), ino}
}

// watch knows every place and asks the system for events of them. Without events
// the look serves.
type watch struct {
	log    *slog.Logger
	w      *fsnotify.Watcher // nil: the system has none
	places []place
	byPath map[string]int // in places, by absolute path: those that events may come of
	at     int            // in places: where the next look begins
	warned bool
}

// perLook bounds what one look costs: in a large office it takes a few to see
// every place, which events and the full pass make good.
const perLook = 256

func newWatch(log *slog.Logger, events bool) *watch {
	if !events {
		return &watch{log: log}
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("no file events; mail is found by looking", "error", err.Error())
		w = nil
	}
	return &watch{log: log, w: w}
}

func (w *watch) close() {
	if w.w != nil {
		w.w.Close()
	}
}

func (w *watch) events() chan fsnotify.Event {
	if w.w == nil {
		return nil
	}
	return w.w.Events
}

func (w *watch) errors() chan error {
	if w.w == nil {
		return nil
	}
	return w.w.Errors
}

// set makes places the ones that are watched. What is known of one stays known.
func (w *watch) set(places []place) {
	known := make(map[string]*place, len(w.places))
	for i := range w.places {
		p := &w.places[i]
		known[p.fsys.Path(p.name)] = p
	}
	byPath := make(map[string]int, len(places))
	for i := range places {
		p := &places[i]
		path := p.fsys.Path(p.name)
		if old, ok := known[path]; ok {
			p.seen, p.node = old.seen, old.node
			delete(known, path)
		}
		if !p.still {
			byPath[path] = i
		}
	}
	for path, p := range known {
		if w.w != nil && p.node != 0 {
			w.w.Remove(path)
		}
	}
	w.places, w.byPath, w.at = places, byPath, 0
	for path, i := range byPath { // asked for at once, whatever the look's turn is
		if w.places[i].node == 0 {
			w.ask(path, &w.places[i])
		}
	}
}

// look notes in t which places changed since they were looked at last, and asks
// for events of those that were replaced.
func (w *watch) look(t *todo) { w.lookAt(perLook, t) }

// lookAll is look at every place, before a pass over all: what it finds is no news
// to the looks after it.
func (w *watch) lookAll(t *todo) { w.lookAt(len(w.places), t) }

func (w *watch) lookAt(n int, t *todo) {
	for range min(n, len(w.places)) {
		p := &w.places[w.at%len(w.places)]
		w.at = (w.at + 1) % len(w.places)
		now, _ := stateOf(p.fsys, p.name)
		if now != p.seen {
			p.seen = now
			t.add(p.tag)
		}
		if p.node != now.inode && !p.still {
			w.ask(p.fsys.Path(p.name), p)
		}
	}
}

// ask asks the system for events of what stands at the path now.
func (w *watch) ask(path string, p *place) {
	if w.w == nil {
		return
	}
	if p.node != 0 {
		w.w.Remove(path) // gone with the old file, perhaps
		p.node = 0
	}
	now, there := stateOf(p.fsys, p.name)
	if !there {
		return
	}
	p.node = now.inode
	if err := w.w.Add(path); err != nil && !w.warned {
		w.warned = true
		w.log.Warn("no file events for some mailboxes; their mail is found by looking", "path", path, "error", err.Error())
	}
}

// note takes one event. What this process does itself, moving a file out of an
// outbox, is no news, nor is what readers skip.
func (w *watch) note(ev fsnotify.Event, t *todo) {
	name := filepath.Base(ev.Name)
	if !ev.Has(fsnotify.Create) && !ev.Has(fsnotify.Write) || spool.Hidden(name) || !strings.HasSuffix(name, ".json") {
		return
	}
	if i, ok := w.byPath[filepath.Dir(ev.Name)]; ok {
		t.add(w.places[i].tag)
	}
}

// placesOf lists the places of an office: every outbox, every owner's receipts,
// people's decisions.
func placesOf(o *office.Office, reg *registry.Registry) []place {
	list := make([]place, 0, 3+2*reg.Len())
	list = append(list, place{fsys: o.FS, name: office.ApprovalsDir + "/.done"})
	add := func(a office.Author) {
		list = append(list, place{fsys: a.Box.FS, name: a.Box.Path(spool.Outbox), tag: a.Tag()})
		if a.AID != "" {
			list = append(list, place{fsys: a.Box.FS, name: a.Box.Path(spool.Receipts), tag: a.Tag(), still: true})
		}
	}
	for _, name := range []string{office.Human, office.Postroom} {
		add(o.SystemAuthor(name))
	}
	for e := range reg.All() {
		if a, err := o.Author(e); err == nil { // a mailbox that is away now is looked for by every full pass
			add(a)
		}
	}
	return list
}

// settings is the state of the files that say what there is to serve.
type settings struct{ registry, office state }

func settingsOf(o *office.Office) (s settings) {
	s.registry, _ = stateOf(o.FS, registry.File)
	s.office, _ = stateOf(o.FS, config.OfficeFile)
	return s
}
