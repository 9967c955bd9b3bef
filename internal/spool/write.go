package spool

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/postroom/postroom/internal/vfs"
)

// writeTemp writes data durably under a temporary name in dir. The name is the
// caller's alone: whoever calls holds the lease or the mailbox lock, so what
// stands there is left from a crash.
func writeTemp(fsys vfs.FS, dir, name string, data []byte) (string, error) {
	temp, f, err := beginTemp(fsys, dir, name, data)
	if err != nil {
		return "", err
	}
	return temp, endTemp(fsys, temp, f)
}

// beginTemp writes data under a temporary name in dir, for endTemp.
func beginTemp(fsys vfs.FS, dir, name string, data []byte) (string, vfs.File, error) {
	temp := path.Join(dir, tmp+name)
	f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if err = fsys.Remove(temp); err == nil {
			f, err = fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	if err != nil {
		return "", nil, err
	}
	if _, err = f.Write(data); err != nil {
		f.Close()
		fsys.Remove(temp)
		return "", nil, err
	}
	return temp, f, nil
}

// endTemp makes a temporary file durable and closes it.
func endTemp(fsys vfs.FS, temp string, f vfs.File) error {
	err := f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		fsys.Remove(temp) // nothing refers to it; a stray is skipped by readers anyway
	}
	return err
}

// PutNew makes dir/name appear whole, without ever replacing what is there
// (fs.ErrExist). The caller syncs dir.
func PutNew(fsys vfs.FS, dir, name string, data []byte) error {
	temp, err := writeTemp(fsys, dir, name, data)
	if err != nil {
		return err
	}
	if err := fsys.Move(temp, path.Join(dir, name)); err != nil {
		fsys.Remove(temp)
		return err
	}
	return nil
}

// Replace makes dir/name hold data, whole, in place of what was there. For
// state that one writer owns; never for mail. The caller syncs dir if the state
// must survive.
func Replace(fsys vfs.FS, dir, name string, data []byte) error {
	temp, err := writeTemp(fsys, dir, name, data)
	if err != nil {
		return err
	}
	return fsys.Rename(temp, path.Join(dir, name))
}

// Link gives a file a second name, treating a name that already is the same
// file as done.
func linkSame(fsys vfs.FS, from, to string) error {
	err := fsys.Link(from, to)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	a, aerr := fsys.Lstat(from)
	b, berr := fsys.Lstat(to)
	if aerr == nil && berr == nil && vfs.SameFile(a, b) {
		return nil
	}
	return err
}
