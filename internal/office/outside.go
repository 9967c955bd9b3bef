package office

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// PointerFile stands in a mailbox outside the office and says whose it is.
const PointerFile = ".postroom-mailbox.json"

// Pointer is the content of PointerFile.
type Pointer struct {
	V        int    `json:"v"`
	Office   string `json:"office"` // directory
	OfficeID string `json:"office_id"`
	Agent    string `json:"agent"`
	AID      string `json:"aid"`
}

// MakeOutside makes a mailbox in dir, an absolute path outside the office: in
// an agent's workspace, so that a sandboxed agent can write it (design §3). The
// directory must be new, empty, or this agent's mailbox already. Its file
// system is tried first: without links, renames and durable directories mail
// could be lost there. Errors: KindConflict, KindStore.
func (o *Office) MakeOutside(dir, name, aid string) error {
	if err := makeDir(dir); err != nil {
		return outsideError(mail.KindStore, dir, err, "choose a directory that you can write")
	}
	fsys, err := o.Sys.OpenFS(dir)
	if err != nil {
		return outsideError(mail.KindStore, dir, err, "")
	}
	want := Pointer{1, o.Dir, o.Config.ID, name, aid}
	if err := checkOwner(fsys, dir, want); err != nil {
		return err
	}
	if err := probe(fsys); err != nil {
		return outsideError(mail.KindStore, dir, err, "choose a directory on a local disk: mail is not safe here")
	}
	return o.furnishOutside(fsys, dir, want)
}

func (o *Office) furnishOutside(fsys vfs.FS, dir string, want Pointer) error {
	data, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := private(fsys); err != nil {
		return outsideError(mail.KindStore, dir, err, "choose a directory of your own")
	}
	// The pointer first: it makes the directory ours before anything else is in it.
	for _, f := range []struct{ name, text string }{{PointerFile, string(data) + "\n"}, {".gitignore", "*\n"}} {
		if err := spool.Replace(fsys, ".", f.name, []byte(f.text)); err != nil {
			return outsideError(mail.KindStore, dir, err, "")
		}
	}
	if err := (spool.Box{FS: fsys, Dir: "."}).Make(); err != nil {
		return outsideError(mail.KindStore, dir, err, "")
	}
	return nil
}

// outside opens the directory of a mailbox elsewhere: the one that the path
// leads to now, since it may have been replaced while this process ran, and
// only if it is the agent's. Its owner may point the path at somebody else's
// mailbox; the pointer file in there names whose it is.
func (o *Office) outside(dir string, e registry.Entry) (vfs.FS, error) {
	now, err := o.Sys.OpenFS(dir)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if before, ok := o.boxes[dir]; ok && sameDir(before, now) {
		closeFS(now)
		return before, nil
	}
	if err := o.checkPointer(now, e); err != nil {
		return now, err
	}
	if o.boxes == nil {
		o.boxes = make(map[string]vfs.FS)
	}
	o.boxes[dir] = now // the old one stays open for whoever uses it still
	return now, nil
}

// ErrWhose is the cause when a directory outside the office does not say that
// it is the agent's mailbox.
var ErrWhose = errors.New("this directory does not say that it is the agent's mailbox")

func (o *Office) checkPointer(fsys vfs.FS, e registry.Entry) error {
	data, _, err := spool.ReadFile(fsys, PointerFile, 64<<10)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !o.pointsTo(data, e) {
		return ErrWhose
	}
	return err
}

func (o *Office) pointsTo(data []byte, e registry.Entry) bool {
	var p Pointer
	return json.Unmarshal(data, &p) == nil && p.OfficeID == o.Config.ID && p.AID == e.AID
}

func sameDir(a, b vfs.FS) bool {
	x, aerr := a.Lstat(".")
	y, berr := b.Lstat(".")
	return aerr == nil && berr == nil && vfs.SameFile(x, y)
}

func closeFS(fsys vfs.FS) {
	if c, ok := fsys.(io.Closer); ok {
		c.Close()
	}
}

// checkOwner refuses a directory that holds anything but this agent's mailbox.
func checkOwner(fsys vfs.FS, dir string, want Pointer) error {
	data, _, err := spool.ReadFile(fsys, PointerFile, 64<<10)
	if err == nil {
		var p Pointer
		if json.Unmarshal(data, &p) == nil && p.OfficeID == want.OfficeID && p.Agent == want.Agent {
			return nil
		}
		return outsideError(mail.KindConflict, dir, errors.New("is the mailbox of "+p.Agent+" in "+p.Office), "choose another directory")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return outsideError(mail.KindStore, dir, err, "")
	}
	names, err := fsys.ReadNames(".")
	if err != nil {
		return outsideError(mail.KindStore, dir, err, "")
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == probeA || n == probeB || n == probeC })
	if len(names) > 0 {
		return outsideError(mail.KindConflict, dir, errors.New("is not empty"), "name a new directory, such as "+dir+"/.mail")
	}
	return nil
}

// The files that probe makes and removes.
const (
	probeA = ".tmp-probe-a"
	probeB = ".tmp-probe-b"
	probeC = ".tmp-probe-c"
)

// probe does once what the disk protocol relies on: write and sync a file,
// link it without replacing, rename, sync the directory.
func probe(fsys vfs.FS) error {
	clear := func() {
		for _, n := range []string{probeA, probeB, probeC} {
			fsys.Remove(n)
		}
	}
	clear()
	defer clear()
	f, err := fsys.OpenFile(probeA, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("probe\n"))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Link(probeA, probeB); err != nil {
		return err
	}
	if err := fsys.Link(probeA, probeB); !errors.Is(err, fs.ErrExist) {
		return errors.New("a link replaced another file")
	}
	if err := fsys.Rename(probeB, probeC); err != nil {
		return err
	}
	return fsys.SyncDir(".")
}

func outsideError(kind mail.Kind, dir string, err error, hint string) error {
	return &mail.Error{Op: "make mailbox", Kind: kind, Addr: dir, Err: err, Hint: hint}
}
