package web

import (
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/postroom/postroom/internal/debt"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// eyes see that something changed: at once, where the system tells of changes of
// files, else when they are asked. Looks are the truth, events are hints.
type eyes struct {
	office *office.Office
	w      *fsnotify.Watcher // nil: the system has none
	book   *registry.Registry
	spots  []spot
	at     int // of the next look at spots
	seen   map[string]stamp
}

// spot is a file that its owner changes when its session does something.
type spot struct {
	agent string
	fsys  vfs.FS
	name  string
}

// stamp tells whether a file is as it was.
type stamp struct {
	mtime time.Time
	size  int64
	inode uint64
}

const approvalsDone = office.ApprovalsDir + "/.done"

// perLook bounds what one look costs in an office of very many agents.
const perLook = 512

func newEyes(o *office.Office, log *slog.Logger) *eyes {
	x := &eyes{office: o, seen: map[string]stamp{}}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("no file events; the page is a moment late", "error", err.Error())
		return x
	}
	x.w = w
	// Whatever happens comes to the journal. More directories are not watched: where
	// that takes a descriptor for each file, the decided approvals alone are many.
	w.Add(o.FS.Path(office.JournalDir)) // else it is seen when it is looked at
	return x
}

func (x *eyes) close() {
	if x.w != nil {
		x.w.Close()
	}
}

func (x *eyes) events() <-chan fsnotify.Event {
	if x.w == nil {
		return nil
	}
	return x.w.Events
}

func (x *eyes) errors() <-chan error {
	if x.w == nil {
		return nil
	}
	return x.w.Errors
}

// settle takes the events of a moment together.
func (x *eyes) settle(d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		select {
		case <-x.events():
		case <-x.errors():
		case <-end.C:
			return
		}
	}
}

// changed says what is not as it was at the last call: which events browsers are
// to get, and the agents whose session or mail use changed.
func (x *eyes) changed() (names, agents []string) {
	fsys := x.office.FS
	open, done := x.differs(fsys, office.ApprovalsDir), x.differs(fsys, approvalsDone)
	if open || done {
		names = append(names, onApprovals)
	}
	if x.differs(fsys, debt.Ledger) {
		names = append(names, onDebts)
	}
	if book, err := x.office.Book(); err == nil && book != x.book {
		x.book, x.spots, x.at = book, spotsOf(x.office, book), 0
	}
	for range min(perLook, len(x.spots)) {
		p := x.spots[x.at%len(x.spots)]
		x.at = (x.at + 1) % len(x.spots)
		if x.differs(p.fsys, p.name) && (len(agents) == 0 || agents[len(agents)-1] != p.agent) {
			agents = append(agents, p.agent)
		}
	}
	return names, agents
}

func spotsOf(o *office.Office, book *registry.Registry) []spot {
	var list []spot
	for e := range book.All() {
		if b, err := o.Box(e); err == nil && !e.Archived {
			list = append(list, spot{e.Name, b.FS, b.Path(presence.File)}, spot{e.Name, b.FS, b.Path(spool.Receipts)})
		}
	}
	return list
}

func (x *eyes) differs(fsys vfs.FS, name string) bool {
	var now stamp
	if fi, err := fsys.Lstat(name); err == nil {
		_, ino, _ := vfs.Inode(fi)
		now = stamp{fi.ModTime(), fi.Size(), ino}
	}
	path := fsys.Path(name)
	was := x.seen[path]
	x.seen[path] = now
	return now != was
}
