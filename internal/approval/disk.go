package approval

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	dir         = "approvals"
	doneDir     = "approvals/.done"
	rejectedDir = "approvals/.rejected"
	fuseDir     = "fuses"

	suffix     = ".json"
	tempPrefix = ".tmp-"
	maxFile    = 16 << 20 // a body of 1 MiB, escaped, and a chain
)

func openPath(id string) string { return dir + "/" + id + suffix }
func donePath(id string) string { return doneDir + "/" + id + suffix }

// Prepare makes the directories durably. Safe to repeat; the writing calls do
// it themselves when a directory is missing.
func Prepare(fsys vfs.FS) error {
	for _, d := range []string{dir, doneDir, rejectedDir, fuseDir} {
		if err := fsys.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return storeError("create", fsys.Path(d), err)
		}
	}
	for _, d := range []string{dir, "."} {
		if err := syncDir(fsys, d); err != nil {
			return err
		}
	}
	return nil
}

func exists(fsys vfs.FS, name string) (bool, error) {
	_, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storeError("look for", fsys.Path(name), err)
	}
	return true, nil
}

// list returns the approval ids in a directory; other names are not ours.
func list(fsys vfs.FS, d string) ([]string, error) {
	names, err := fsys.ReadNames(d)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("list", fsys.Path(d), err)
	}
	ids := make([]string, 0, len(names))
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, suffix); ok && ValidID(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// read returns a file's bytes; subject names it in errors.
func read(fsys vfs.FS, subject, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(subject)
	}
	if err != nil {
		return nil, storeError("read", fsys.Path(name), err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, storeError("read", fsys.Path(name), err)
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxFile {
		return nil, corrupt(subject, errors.New("not a file of an approval's size"))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, storeError("read", fsys.Path(name), err)
	}
	return b, nil
}

// publish makes d/id.json appear whole, or not at all. The content is durable
// before the name exists; the name is durable after the next SyncDir of d.
// fs.ErrExist, unwrapped, if the name is taken.
func publish(fsys vfs.FS, d, id string, b []byte) error {
	tmp, err := writeTemp(fsys, d, id, b)
	if err != nil {
		return err
	}
	name := d + "/" + id + suffix
	err = fsys.Link(tmp, name)
	// A temporary name that stays behind is never read, and swept later.
	_ = fsys.Remove(tmp)
	if errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	if err != nil {
		return storeError("write", fsys.Path(name), err)
	}
	return nil
}

// replace makes d/id.json hold b, durably, whatever it held before.
func replace(fsys vfs.FS, d, id string, b []byte) error {
	tmp, err := writeTemp(fsys, d, id, b)
	if err != nil {
		return err
	}
	name := d + "/" + id + suffix
	if err := fsys.Rename(tmp, name); err != nil {
		_ = fsys.Remove(tmp)
		return storeError("write", fsys.Path(name), err)
	}
	return syncDir(fsys, d)
}

// writeTemp writes b to a new temporary file in d and syncs it.
func writeTemp(fsys vfs.FS, d, id string, b []byte) (string, error) {
	if len(b) > maxFile {
		return "", &mail.Error{Op: "write", Kind: mail.KindTooLarge, Addr: id}
	}
	name, f, err := createTemp(fsys, d, id)
	if err != nil {
		return "", storeError("write", fsys.Path(d+"/"+id+suffix), err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = fsys.Remove(name)
		return "", storeError("write", fsys.Path(d+"/"+id+suffix), err)
	}
	return name, nil
}

// createTemp opens a new file; the random part keeps two deciders apart.
func createTemp(fsys vfs.FS, d, id string) (string, vfs.File, error) {
	var err error
	prepared := false
	for range 8 {
		name := fmt.Sprintf("%s/%s%s-%016x", d, tempPrefix, id, rand.Uint64())
		var f vfs.File
		f, err = fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			return name, f, nil
		case errors.Is(err, fs.ErrNotExist) && !prepared:
			prepared = true
			if err := Prepare(fsys); err != nil {
				return "", nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return "", nil, err
		}
	}
	return "", nil, err
}

// Sweep removes temporary files that a crash left behind. The caller holds the
// lease, so that nobody is writing one.
func Sweep(fsys vfs.FS) error {
	for _, d := range []string{dir, doneDir, rejectedDir, fuseDir} {
		names, err := fsys.ReadNames(d)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return storeError("list", fsys.Path(d), err)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, tempPrefix) {
				continue
			}
			if err := fsys.Remove(d + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return storeError("remove", fsys.Path(d+"/"+name), err)
			}
		}
	}
	return nil
}

func syncDir(fsys vfs.FS, d string) error {
	if err := fsys.SyncDir(d); err != nil {
		return storeError("sync", fsys.Path(d), err)
	}
	return nil
}

// storeError keeps an error that is a mail.Error already.
func storeError(op, addr string, err error) error {
	var known *mail.Error
	if errors.As(err, &known) {
		return err
	}
	return &mail.Error{Op: op, Kind: mail.KindStore, Addr: addr, Err: err}
}
