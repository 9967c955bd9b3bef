package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

const tmpFile = ".tmp-registry.json"

// Create writes the empty registry of a new office. It never replaces one:
// KindConflict if the name exists.
func Create(fsys vfs.FS) (*Registry, error) {
	r := &Registry{fsys: fsys, doc: &document{}}
	r.set(encode(r.doc))
	err := writeTemp(fsys, r.raw)
	if err == nil {
		err = fsys.Link(tmpFile, File)
		fsys.Remove(tmpFile)
	}
	if err == nil {
		err = fsys.SyncDir(".")
	}
	if err != nil {
		e := &mail.Error{Op: "create registry", Kind: mail.KindStore, Addr: fsys.Path(File), Err: err}
		if errors.Is(err, fs.ErrExist) {
			e.Kind, e.Hint = mail.KindConflict, "use the office that is there"
		}
		return nil, e
	}
	r.onDisk = stampOf(r.raw)
	return r, nil
}

// Save writes the registry durably: temporary file, fsync, rename, fsync of
// the directory. The registry is state of one writer, so the rename replaces.
// It refuses, changing nothing, when the file is not what was loaded
// (KindConflict: a person edited it meanwhile) or had more agents than what
// would be written. Without edits it writes only to mend a file that something
// else wrote.
//
// After any other error the file is either the old or the new one: load again.
func (r *Registry) Save(fsys vfs.FS) error {
	if r.raw == nil || stampOf(r.raw) == r.onDisk {
		return nil
	}
	now, err := readAll(fsys)
	if err != nil {
		return readError(fsys, err)
	}
	fail := func(kind mail.Kind, err error, hint string) error {
		return &mail.Error{Op: "write registry", Kind: kind, Addr: fsys.Path(File), Err: err, Hint: hint}
	}
	if stampOf(now) != r.onDisk {
		return fail(mail.KindConflict, errors.New("changed since it was read"), "run the command again")
	}
	if n := len(r.doc.agents); n < r.loaded {
		return fail(mail.KindCorrupt, fmt.Errorf("has %d agents, would have %d", r.loaded, n), "archive agents, never drop them")
	}
	if err = writeTemp(fsys, r.raw); err == nil {
		if err = fsys.Rename(tmpFile, File); err != nil {
			fsys.Remove(tmpFile)
		}
	}
	if err == nil {
		err = fsys.SyncDir(".")
	}
	if err != nil {
		return fail(mail.KindStore, err, "")
	}
	r.onDisk, r.loaded, r.edited = stampOf(r.raw), len(r.doc.agents), false
	return nil
}

// stamp tells one content of the file from another.
type stamp struct {
	size int64
	sum  uint32 // of the whole file
}

func stampOf(raw []byte) stamp { return stamp{int64(len(raw)), checksum(raw)} }

func readAll(fsys vfs.FS) ([]byte, error) {
	f, size, err := open(fsys)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw := make([]byte, size)
	return raw, readAt(f, raw, 0)
}

// writeTemp leaves raw, synced, under the temporary name, or nothing.
func writeTemp(fsys vfs.FS, raw []byte) error {
	if err := fsys.Remove(tmpFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.OpenFile(tmpFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		fsys.Remove(tmpFile)
	}
	return err
}
