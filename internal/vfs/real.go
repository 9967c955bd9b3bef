package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// Real is a directory of the operating system's file system. It is built on
// os.Root, which keeps every name below the root but follows symlinks that stay
// there; Real refuses those too. Safe for use by several goroutines.
type Real struct {
	root *os.Root
	path string // absolute
}

var errChanged = errors.New("changed while it was opened")

// OpenReal opens the directory dir, which may be reached through symlinks.
func OpenReal(dir string) (*Real, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// The separator makes the system refuse a FIFO instead of waiting for its
	// writer.
	root, err := os.OpenRoot(abs + string(filepath.Separator))
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	return &Real{root: root, path: abs}, nil
}

// Close closes the root. Files opened from it stay open.
func (r *Real) Close() error { return r.root.Close() }

// Path implements FS.
func (r *Real) Path(name string) string { return filepath.Join(r.path, filepath.FromSlash(name)) }

// OpenFile implements FS.
func (r *Real) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	p, err := r.place(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	defer r.release(p)
	f, err := openIn(p.dir, p.base, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &realFile{f, name}, nil
}

// openIn opens base in dir. os.Root would follow a symlink at base, whatever
// the flags, so it looks first and then compares what it got; whoever keeps
// swapping files meanwhile gets an error, never a file of his choice.
func openIn(dir *os.Root, base string, flag int, perm fs.FileMode) (*os.File, error) {
	const tries = 32
	for range tries {
		if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
			return dir.OpenFile(base, flag|nonblock, perm)
		}
		seen, err := dir.Lstat(base)
		if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
			f, err := dir.OpenFile(base, flag|os.O_EXCL|nonblock, perm)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return f, err
		}
		if err != nil {
			return nil, err
		}
		f, err := openSeen(dir, base, flag, seen)
		if err == errChanged || errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
			continue
		}
		return f, err
	}
	return nil, errChanged
}

// openSeen opens the existing file that Lstat saw, or fails with errChanged.
func openSeen(dir *os.Root, base string, flag int, seen fs.FileInfo) (*os.File, error) {
	if err := openable(seen.Mode(), flag); err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(base, flag&^(os.O_CREATE|os.O_EXCL|os.O_TRUNC)|nonblock, 0)
	if err != nil {
		return nil, err
	}
	got, err := f.Stat()
	if err == nil && !os.SameFile(seen, got) {
		err = errChanged
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openable says whether a file of this mode may be opened with these flags.
func openable(mode fs.FileMode, flag int) error {
	switch {
	case mode.IsRegular():
		return nil
	case !mode.IsDir():
		return ErrNotRegular
	case flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0:
		return syscall.EISDIR
	}
	return nil
}

// Mkdir implements FS.
func (r *Real) Mkdir(name string, perm fs.FileMode) error {
	p, err := r.place(name)
	if err == nil {
		defer r.release(p)
		err = p.dir.Mkdir(p.base, perm)
	}
	return pathError("mkdir", name, err)
}

// Remove implements FS.
func (r *Real) Remove(name string) error {
	p, err := r.place(name)
	if err == nil {
		defer r.release(p)
		err = p.dir.Remove(p.base)
	}
	return pathError("remove", name, err)
}

// Link implements FS.
func (r *Real) Link(oldname, newname string) error {
	err := r.between(oldname, newname, (*os.Root).Link, r.linkAcross)
	return linkError("link", oldname, newname, err)
}

// Rename implements FS.
func (r *Real) Rename(oldname, newname string) error {
	err := r.between(oldname, newname, (*os.Root).Rename, r.renameAcross)
	return linkError("rename", oldname, newname, err)
}

// between runs a call on two names: within if they share a directory, else
// across.
func (r *Real) between(oldname, newname string, within func(*os.Root, string, string) error,
	across func(from, to place) error) error {
	from, err := r.place(oldname)
	if err != nil {
		return err
	}
	defer r.release(from)
	if path.Dir(oldname) == path.Dir(newname) {
		_, base, err := split(newname)
		if err != nil {
			return err
		}
		return within(from.dir, from.base, base)
	}
	to, err := r.place(newname)
	if err != nil {
		return err
	}
	defer r.release(to)
	return across(from, to)
}

// Lstat implements FS.
func (r *Real) Lstat(name string) (fs.FileInfo, error) {
	p, err := r.place(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	defer r.release(p)
	fi, err := p.dir.Lstat(p.base)
	return fi, pathError("lstat", name, err)
}

// ReadNames implements FS.
func (r *Real) ReadNames(name string) ([]string, error) {
	f, err := r.OpenFile(name, os.O_RDONLY|directory, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.(*realFile).f.Readdirnames(-1)
	return names, pathError("readnames", name, err)
}

// SyncDir implements FS.
func (r *Real) SyncDir(name string) error {
	if !dirsSync {
		return nil
	}
	f, err := r.OpenFile(name, os.O_RDONLY|directory, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	f.Close()
	return err
}

// place is a name taken apart: the open directory, and the entry in it.
type place struct {
	dir        *os.Root
	name, base string
}

// place opens the directory that holds name, one component at a time.
func (r *Real) place(name string) (place, error) {
	dirs, base, err := split(name)
	if err != nil {
		return place{}, err
	}
	p := place{r.root, name, base}
	for _, d := range dirs {
		next, err := enter(p.dir, d)
		r.release(p)
		if err != nil {
			return place{}, err
		}
		p.dir = next
	}
	return p, nil
}

func (r *Real) release(p place) {
	if p.dir != r.root {
		p.dir.Close()
	}
}

// enter opens the directory base in dir, and nothing that a symlink points to.
func enter(dir *os.Root, base string) (*os.Root, error) {
	seen, err := dir.Lstat(base)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, syscall.ENOTDIR
	}
	// With "/." a FIFO that takes the directory's place is refused at once.
	sub, err := dir.OpenRoot(base + "/.")
	if err != nil {
		return nil, err
	}
	if got, err := sub.Lstat("."); err != nil || !os.SameFile(seen, got) {
		sub.Close()
		return nil, errors.Join(errChanged, err)
	}
	return sub, nil
}

// realFile is an open file whose errors carry the name it was opened by.
type realFile struct {
	f    *os.File
	name string
}

func (f *realFile) Read(p []byte) (int, error) {
	n, err := f.f.Read(p)
	return n, f.err("read", err)
}

func (f *realFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(p, off)
	return n, f.err("read", err)
}

func (f *realFile) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	return n, f.err("write", err)
}

func (f *realFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.f.WriteAt(p, off)
	return n, f.err("write", err)
}

func (f *realFile) Stat() (fs.FileInfo, error) {
	fi, err := f.f.Stat()
	return fi, f.err("stat", err)
}

func (f *realFile) Close() error              { return f.err("close", f.f.Close()) }
func (f *realFile) Sync() error               { return f.err("sync", f.f.Sync()) }
func (f *realFile) Truncate(size int64) error { return f.err("truncate", f.f.Truncate(size)) }

func (f *realFile) TryLock() (bool, error) {
	raw, err := f.f.SyscallConn()
	if err != nil {
		return false, f.err("lock", err)
	}
	var held bool
	var lockErr error
	err = raw.Control(func(fd uintptr) { held, lockErr = tryLock(fd) })
	return held, f.err("lock", errors.Join(err, lockErr))
}

func (f *realFile) err(op string, err error) error {
	if err == io.EOF {
		return err
	}
	return pathError(op, f.name, err)
}

// pathError gives err the name that the caller used.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: cause(err)}
}

func linkError(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: oldname, New: newname, Err: cause(err)}
}

// cause takes off the wrapping that package os put round a system error.
func cause(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
