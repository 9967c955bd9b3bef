// Package office opens one office and answers what both ends of the disk
// protocol ask: where a mailbox is, what a message says, what the rules need to
// know before they decide (design §3, §7). The front door (mailbox) and the
// router never import each other; what they share is here.
//
// Invariants. Opening changes nothing. An office that was copied, moved or made
// by a newer tool is never written to. Mailbox paths come from the registry and
// from nowhere else.
package office

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// The directories of an office (docs/spool-format.md §1).
const (
	AgentsDir      = "agents"
	MessagesDir    = "messages"
	ApprovalsDir   = "approvals"
	TranscriptsDir = "transcripts"
	JournalDir     = "journal"
	MovedFile      = "MOVED"
)

// System is the world outside the office, injected so that tests can replace
// any of it.
type System struct {
	Now      func() time.Time
	OpenFS   func(dir string) (vfs.FS, error)
	Machine  func() string
	Boot     func() (id string, since time.Duration, ok bool)
	Host     string
	PID      int
	Version  string // "post 0.1.0"
	Parallel int    // syncs at once
}

// Batch returns a batch of syncs as wide as the system allows.
func (s System) Batch() *spool.Batch { return &spool.Batch{Parallel: s.Parallel} }

// Office is one open office.
type Office struct {
	FS     vfs.FS
	Dir    string // absolute
	Config config.Office
	Sys    System

	settings policy.Settings
	station  atomic.Pointer[string] // the office's name on the link, as last read
	mu       sync.Mutex
	fileIs   fs.FileInfo        // postroom.toml as last read
	checked  time.Time          // when the office was last found to be this one
	book     *registry.Registry // as last read, from the file bookIs
	bookIs   fs.FileInfo
	boxes    map[string]vfs.FS // mailboxes elsewhere, by directory
	roll     roll
	storedBy string            // whose messages are in stored
	stored   map[string]Stored // by file name
}

// Open opens the office in dir, which is absolute.
func Open(dir string, sys System) (*Office, error) {
	fsys, err := sys.OpenFS(dir)
	if err != nil {
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			err = p.Err // the path is named already
		}
		return nil, &mail.Error{Op: "open office", Kind: mail.KindNotFound, Addr: dir, Err: err,
			Hint: `run "post init" to make one, or name one with --office`}
	}
	data, fi, err := spool.ReadFile(fsys, config.OfficeFile, 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		if to, moved := readMoved(fsys); moved {
			return nil, movedError(dir, to)
		}
		return nil, &mail.Error{Op: "open office", Kind: mail.KindNotFound, Addr: dir,
			Err: errors.New("there is no " + config.OfficeFile + " here"), Hint: `run "post init", or name an office with --office`}
	}
	if err != nil {
		return nil, &mail.Error{Op: "open office", Kind: mail.KindStore, Addr: dir, Err: err, Hint: `run "post doctor"`}
	}
	cfg, err := config.DecodeOffice(data)
	if err != nil {
		return nil, err
	}
	settings, err := cfg.Settings()
	if err != nil {
		return nil, err
	}
	o := &Office{FS: fsys, Dir: dir, Config: cfg, Sys: sys, settings: settings, fileIs: fi}
	o.station.Store(&cfg.Station)
	return o, nil
}

// Settings are the office's rules.
func (o *Office) Settings() policy.Settings {
	s := o.settings
	s.Station = o.Station()
	return s
}

// recheck is how long a look at the office's identity is good for.
const recheck = time.Second

// CheckWritable refuses an office that was copied or moved away (design §3).
func (o *Office) CheckWritable() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if age := o.Sys.Now().Sub(o.checked); !o.checked.IsZero() && age >= 0 && age < recheck {
		return nil
	}
	err := o.checkWritable()
	if err == nil {
		if !o.checked.IsZero() { // a process that lives on may see the office linked
			o.rereadStation()
		}
		o.checked = o.Sys.Now()
	}
	return err
}

func (o *Office) checkWritable() error {
	if to, moved := readMoved(o.FS); moved {
		return movedError(o.Dir, to)
	}
	why, err := o.foreign()
	if err != nil {
		return &mail.Error{Op: "write to office", Kind: mail.KindStore, Addr: o.Dir, Err: err, Hint: `run "post doctor"`}
	}
	if why == "" {
		return nil
	}
	hint := `if this is the office now, run "post office move"; to go on with both, "post office fork"`
	if why == othersOffice {
		hint = "use an office of your own: --office DIR"
	}
	return &mail.Error{Op: "write to office", Kind: mail.KindForeign, Addr: o.Dir, Err: errors.New(why), Hint: hint}
}

// Foreign says why the directory is not the one the office was made in, or "".
func (o *Office) Foreign() string {
	why, err := o.foreign()
	if err != nil {
		return err.Error()
	}
	return why
}

// othersOffice: what is in it may have us run commands, and whoever can make a
// directory above where we stand can put one there.
const othersOffice = "it belongs to another user"

func (o *Office) foreign() (why string, err error) {
	fi, err := o.FS.Lstat(".")
	if err != nil {
		return "", err
	}
	if vfs.Others(fi) {
		return othersOffice, nil
	}
	if m := o.Sys.Machine(); m != o.Config.Machine {
		return "it was made on another machine", nil
	}
	if _, ino, ok := vfs.Inode(fi); ok && ino != o.Config.Inode {
		return "it is a copy of another directory", nil
	}
	return "", nil
}

func readMoved(fsys vfs.FS) (to string, moved bool) {
	data, _, err := spool.ReadFile(fsys, MovedFile, 8<<10)
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(data)), true
}

func movedError(dir, to string) error {
	return &mail.Error{Op: "open office", Kind: mail.KindForeign, Addr: dir, Err: errors.New("it has moved to " + to),
		Hint: "use --office " + to}
}

// Registry loads the address book, to be changed by its caller.
func (o *Office) Registry() (*registry.Registry, error) { return registry.Load(o.FS) }

// Book is the address book to be read. It is loaded again only when the file is
// another one: saving renames, so another inode, size or time says so.
func (o *Office) Book() (*registry.Registry, error) {
	fi, err := o.FS.Lstat(registry.File)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && o.book != nil && vfs.SameFile(fi, o.bookIs) && fi.Size() == o.bookIs.Size() && fi.ModTime().Equal(o.bookIs.ModTime()) {
		return o.book, nil
	}
	book, lerr := registry.Load(o.FS)
	if lerr != nil {
		return nil, lerr
	}
	if after, aerr := o.FS.Lstat(registry.File); err == nil && aerr == nil && vfs.SameFile(fi, after) && fi.ModTime().Equal(after.ModTime()) {
		o.book, o.bookIs = book, fi
	}
	return book, nil
}

// Entry finds an agent by name or alias. Not known and known but unreadable for
// now (KindStore) are different things: the first makes mail bounce.
func Entry(reg *registry.Registry, name string) (registry.Entry, bool, error) {
	e, ok := reg.Entry(name)
	if _, known := reg.Agent(name); ok || !known {
		return e, ok, nil
	}
	return e, false, &mail.Error{Op: "read registry", Kind: mail.KindStore, Addr: name,
		Err: errors.New("the entry can't be read"), Hint: "try again; if that doesn't help, run post doctor"}
}

// Box returns an agent's mailbox, where the registry says it is. With an error
// that wraps ErrWhose the box can be looked at, by doctor, and is not to be used
// for mail.
func (o *Office) Box(e registry.Entry) (spool.Box, error) {
	dir := filepath.Dir(e.InboxPath)
	if rel, ok := o.within(dir); ok {
		return spool.Box{FS: o.FS, Dir: rel, Shared: true}, nil
	}
	fsys, err := o.outside(dir, e)
	box := spool.Box{FS: fsys, Dir: "."}
	if err == nil || errors.Is(err, ErrWhose) && o.CheckWritable() != nil { // a copy: it may be looked at, never written
		return box, nil
	}
	return box, &mail.Error{Op: "open mailbox", Kind: mail.KindDelivery, Addr: e.Name, Err: err, Hint: `see "post doctor"`}
}

// SystemBox is the mailbox of human or postroom: an outbox for what a person
// and the office itself write.
func (o *Office) SystemBox(name string) spool.Box {
	return spool.Box{FS: o.FS, Dir: AgentsDir + "/" + name, Shared: true}
}

// within returns the slash path of dir inside the office, if it is inside.
func (o *Office) within(dir string) (string, bool) {
	rel, ok := strings.CutPrefix(dir, o.Dir+string(filepath.Separator))
	if !ok || rel == "" {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	return rel, fs.ValidPath(rel)
}

// MessagePath is where the office's own copy of a message stands.
func MessagePath(id mail.ID) string {
	return MessagesDir + "/" + id.Month() + "/" + spool.FileName(id)
}

// ReadMessage reads the office's own copy.
func (o *Office) ReadMessage(id mail.ID) (*mail.Message, []byte, error) {
	data, _, err := spool.ReadMail(o.FS, MessagePath(id))
	if err != nil {
		return nil, nil, err
	}
	m, err := mail.Parse(data)
	return m, data, err
}
