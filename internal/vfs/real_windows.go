package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

// Real is a directory of the operating system's file system, an os.Root that
// refuses symlinks and junctions below it. They are looked for by name before
// each call, so whoever may create them and wins a race can lead a call to
// another place, though never out of the root. Safe for use by several
// goroutines.
type Real struct {
	root *os.Root
	path string // absolute
}

const directory = 0

// OpenReal opens the directory dir, which may be reached through symlinks.
func OpenReal(dir string) (*Real, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	return &Real{root, abs}, nil
}

// Close closes the root. Open files stay open.
func (r *Real) Close() error { return r.root.Close() }

func (r *Real) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	fi, err := r.root.Lstat(name)
	if err == nil && flag&(os.O_CREATE|os.O_EXCL) != os.O_CREATE|os.O_EXCL {
		if err := openable(fi.Mode(), flag); err != nil {
			return nil, err
		}
	}
	return r.root.OpenFile(name, flag, perm)
}

// OpenFile implements FS.
func (r *Real) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := r.open(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return realFile{f}, nil
}

// ReadNames implements FS.
func (r *Real) ReadNames(name string) ([]string, error) {
	f, err := r.open(name, os.O_RDONLY|directory, 0)
	if err != nil {
		return nil, pathError("readnames", name, err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return names, pathError("readnames", name, err)
}

// realFile is an open file of the operating system.
type realFile struct{ *os.File }

func (f realFile) TryLock() (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, pathError("lock", f.Name(), err)
	}
	var held bool
	var lockErr error
	if err := raw.Control(func(fd uintptr) { held, lockErr = tryLock(fd) }); err != nil {
		return false, pathError("lock", f.Name(), err)
	}
	return held, pathError("lock", f.Name(), lockErr)
}

// Mkdir implements FS.
func (r *Real) Mkdir(name string, perm fs.FileMode) error {
	err := r.check(name)
	if err == nil {
		err = r.root.Mkdir(name, perm)
	}
	return pathError("mkdir", name, err)
}

// Remove implements FS.
func (r *Real) Remove(name string) error {
	err := r.check(name)
	if err == nil {
		err = r.root.Remove(name)
	}
	return pathError("remove", name, err)
}

// Link implements FS.
func (r *Real) Link(oldname, newname string) error {
	err := r.check(oldname, newname)
	if err == nil {
		err = r.root.Link(oldname, newname)
	}
	return linkError("link", oldname, newname, err)
}

// Move implements FS.
func (r *Real) Move(oldname, newname string) error {
	err := r.Link(oldname, newname)
	if err == nil {
		err = r.Remove(oldname)
	}
	return linkError("move", oldname, newname, err)
}

// Rename implements FS.
func (r *Real) Rename(oldname, newname string) error {
	err := r.check(oldname, newname)
	if err == nil {
		if fi, statErr := r.root.Lstat(newname); statErr == nil && fi.IsDir() {
			_, err = r.root.Lstat(oldname)
			if err == nil {
				err = syscall.EEXIST
			}
		} else {
			err = r.root.Rename(oldname, newname)
		}
	}
	return linkError("rename", oldname, newname, err)
}

// Lstat implements FS.
func (r *Real) Lstat(name string) (fs.FileInfo, error) {
	if err := r.check(name); err != nil {
		return nil, pathError("lstat", name, err)
	}
	fi, err := r.root.Lstat(name)
	return fi, pathError("lstat", name, err)
}

// SyncDir implements FS. NTFS journals its directories and has no call for it.
func (r *Real) SyncDir(string) error { return nil }

// check refuses bad names, and names that lead through anything but
// directories.
func (r *Real) check(names ...string) error {
	for _, name := range names {
		dirs, _, err := split(name)
		if err != nil {
			return err
		}
		for i := range dirs {
			fi, err := r.root.Lstat(strings.Join(dirs[:i+1], "/"))
			if err != nil {
				return err
			}
			if !fi.IsDir() {
				return syscall.ENOTDIR
			}
		}
	}
	return nil
}

// tryLock locks one byte far behind any content: locks are mandatory on
// Windows, and everybody may read a lock file.
func tryLock(fd uintptr) (bool, error) {
	const far = 0x7fffffff
	err := windows.LockFileEx(windows.Handle(fd),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: far})
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return false, nil
	}
	return err == nil, err
}

// IsReadOnly reports whether err says that the file system is mounted read-only.
func IsReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// IsFull reports whether err says that there is no room, for now.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// ReadSystem reads a small file of the system itself.
func ReadSystem(name string, _ int) ([]byte, error) { return os.ReadFile(name) }

// Hold does nothing: a call here is one call of the system in any case.
func (r *Real) Hold() (release func()) { return func() {} }
