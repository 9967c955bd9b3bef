package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// maxFile bounds what is read: some 200,000 agents.
const maxFile = 64 << 20

const tmpFile = ".tmp-registry.json"

// Load reads the office's registry. A file with a valid checksum is taken as
// it stands, line by line, when asked; any other is parsed strictly: valid
// JSON is accepted (see Edited), everything else is KindCorrupt and names the
// line. A missing file is KindCorrupt too, wrapping fs.ErrNotExist; a newer
// format is KindForeign.
func Load(fsys vfs.FS) (*Registry, error) {
	raw, err := read(fsys)
	if err != nil {
		return nil, readError(fsys, err)
	}
	if canonical(raw) {
		return &Registry{raw: raw, disk: raw}, nil
	}
	doc, err := parse(raw)
	if err != nil {
		return nil, readError(fsys, err)
	}
	return &Registry{raw: encode(doc), disk: raw, doc: doc, loaded: len(doc.agents), edited: true}, nil
}

// canonical reports whether raw is what encode wrote, byte for byte.
func canonical(raw []byte) bool {
	body := len(raw) - crcLen
	if body < len(head) || string(raw[:len(head)]) != head {
		return false
	}
	tail := string(raw[body:])
	if tail[:len(crcHead)] != crcHead || tail[len(crcHead)+8:] != crcTail {
		return false
	}
	sum, err := strconv.ParseUint(tail[len(crcHead):len(crcHead)+8], 16, 32)
	return err == nil && uint32(sum) == checksum(raw[:body])
}

func read(fsys vfs.FS) ([]byte, error) {
	f, err := fsys.OpenFile(File, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case fi.Size() > maxFile:
		return nil, fmt.Errorf("%d bytes are more than a registry can have", fi.Size())
	}
	raw := make([]byte, fi.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// readError makes the error of a registry that cannot be read.
func readError(fsys vfs.FS, err error) error {
	e := &mail.Error{Op: "read registry", Kind: mail.KindCorrupt, Addr: fsys.Path(File), Err: err}
	var f *fault
	switch {
	case errors.Is(err, errFormat):
		e.Kind, e.Hint = mail.KindForeign, "update post on this machine"
	case errors.Is(err, fs.ErrNotExist):
		e.Hint = "restore the file from a backup; nothing was changed"
	case errors.As(err, &f):
		e.Hint = "mend that line or restore the file from a backup; nothing was changed"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Hint = "try again; the file changed while it was read"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.Hint = mail.KindStore, "make the file readable for this user"
	default:
		e.Kind = mail.KindStore
	}
	return e
}

// Create writes the empty registry of a new office. It never replaces one:
// KindConflict if the name exists.
func Create(fsys vfs.FS) (*Registry, error) {
	raw := encode(&document{})
	err := writeTemp(fsys, raw)
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
	return &Registry{raw: raw, disk: raw}, nil
}

// Save writes the registry durably: temporary file, fsync, rename, fsync of
// the directory. The registry is state of one writer, so the rename replaces.
// It refuses, changing nothing, when the file is not what was loaded
// (KindConflict: a person edited it meanwhile) or has more agents than what
// would be written. Without edits it writes only to mend a file that something
// else wrote.
//
// After any other error the file is either the old or the new one: load again.
func (r *Registry) Save(fsys vfs.FS) error {
	if !r.edited && bytes.Equal(r.raw, r.disk) {
		return nil
	}
	now, err := read(fsys)
	if err != nil {
		return readError(fsys, err)
	}
	fail := func(kind mail.Kind, err error, hint string) error {
		return &mail.Error{Op: "write registry", Kind: kind, Addr: fsys.Path(File), Err: err, Hint: hint}
	}
	if !bytes.Equal(now, r.disk) {
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
	r.disk, r.loaded, r.edited = r.raw, len(r.doc.agents), false
	return nil
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
