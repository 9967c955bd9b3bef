package serve

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// place is a directory, or a file, whose change means that a pass has something to
// do.
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
	mtime time.Time
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
	return state{fi.ModTime(), fi.Size(), ino}
}

// watch knows every place and asks the system for events of them. Without events
// the look serves.
type watch struct {
	log    *slog.Logger
	w      *fsnotify.Watcher // nil: the system has none
	places map[string]*place // by absolute path
	order  []string          // of the looks
	at     int               // in order
	warned bool
}

// perLook bounds what one look costs: in a large office it takes a few to see
// every place, which events and the full pass make good.
const perLook = 512

func newWatch(log *slog.Logger, events bool) *watch {
	if !events {
		return &watch{log: log, places: map[string]*place{}}
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("no file events; mail is found by looking", "error", err.Error())
		w = nil
	}
	return &watch{log: log, w: w, places: map[string]*place{}}
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

// set makes places the ones that are watched.
func (w *watch) set(places []place) {
	keep := make(map[string]bool, len(places))
	for _, p := range places {
		path := p.fsys.Path(p.name)
		keep[path] = true
		if known, ok := w.places[path]; ok {
			known.fsys, known.tag = p.fsys, p.tag
			continue
		}
		w.places[path] = &p
	}
	w.order = w.order[:0]
	for path, p := range w.places {
		if keep[path] {
			w.order = append(w.order, path)
			continue
		}
		if w.w != nil && p.node != 0 {
			w.w.Remove(path)
		}
		delete(w.places, path)
	}
	w.at = 0
	for path, p := range w.places { // asked for at once, whatever the look's turn is
		if p.node == 0 {
			w.ask(path, p)
		}
	}
}

// look notes in t which places changed since they were looked at last, and asks
// for events of those that were replaced.
func (w *watch) look(t *todo) {
	for range min(perLook, len(w.order)) {
		path := w.order[w.at%len(w.order)]
		w.at = (w.at + 1) % len(w.order)
		p := w.places[path]
		now, _ := stateOf(p.fsys, p.name)
		if now != p.seen {
			p.seen = now
			t.add(p.tag)
		}
		if p.node != now.inode {
			w.ask(path, p)
		}
	}
}

// ask asks the system for events of what stands at the path now.
func (w *watch) ask(path string, p *place) {
	if w.w == nil || p.still {
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
	if p, ok := w.places[filepath.Dir(ev.Name)]; ok {
		t.add(p.tag)
	}
}

// placesOf lists the places of an office: every outbox, every owner's receipts,
// people's decisions.
func placesOf(o *office.Office, reg *registry.Registry) []place {
	list := []place{{fsys: o.FS, name: office.ApprovalsDir + "/.done"}}
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
