//go:build unix

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Real is a directory of the operating system's file system.
//
// It follows no symlink in any component: by openat2 where there is one, else
// by opening each component by itself with O_NOFOLLOW, as os.Root does; but
// os.Root then goes after a symlink as long as it stays below the root, and has
// no way not to. Safe for use by several goroutines.
type Real struct {
	fd   int
	path string      // absolute
	walk atomic.Bool // openat2 is not to be had
	held holding
}

const directory = unix.O_DIRECTORY

// OpenReal opens the directory dir, which may be reached through symlinks.
func OpenReal(dir string) (*Real, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	fd, err := openat(unix.AT_FDCWD, abs, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	return &Real{fd: fd, path: abs}, nil
}

// Close closes the root. No other call may be running; open files stay open.
func (r *Real) Close() error { return pathError("close", r.path, unix.Close(r.fd)) }

// OpenFile implements FS.
func (r *Real) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	fd, err := r.openFD(name, flag|unix.O_NONBLOCK, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return newFile(fd, name, flag), nil
}

// ReadNames implements FS.
func (r *Real) ReadNames(name string) ([]string, error) {
	fd, err := r.openFD(name, os.O_RDONLY|directory, 0)
	if err != nil {
		return nil, pathError("readnames", name, err)
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	return names, pathError("readnames", name, err)
}

// openFD opens name and checks that it is what may be opened.
func (r *Real) openFD(name string, flag int, perm fs.FileMode) (int, error) {
	fd, err := r.openAt(name, flag|unix.O_NOFOLLOW, uint32(perm.Perm()))
	switch err {
	case nil:
	case unix.ELOOP, unix.EMLINK, unix.ENXIO: // symlink, the same on BSD, FIFO or socket
		return -1, ErrNotRegular
	default:
		return -1, err
	}
	if flag&directory == 0 && flag&(os.O_CREATE|os.O_EXCL) != os.O_CREATE|os.O_EXCL {
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil {
			err = openable(mode(&st), flag)
		}
		if err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

// openAt opens name in one call if it can.
func (r *Real) openAt(name string, flag int, perm uint32) (int, error) {
	dir, base, err := parent(name)
	if err != nil {
		return -1, err
	}
	if dir != "." && !r.walk.Load() {
		if d := r.held.get(dir); d != nil {
			defer r.held.put(d)
			return openat(d.fd, base, flag, perm)
		}
		fd, err, ok := openBeneath(r.fd, name, flag, perm)
		if ok && err != unix.ELOOP { // the walk tells which component is the symlink
			return fd, err
		}
		r.walk.Store(err == unix.ENOSYS)
	}
	at, err := r.findIn(dir, base)
	if err != nil {
		return -1, err
	}
	defer r.release(at)
	return openat(at.dir, at.base, flag, perm)
}

// Mkdir implements FS.
func (r *Real) Mkdir(name string, perm fs.FileMode) error {
	at, err := r.find(name)
	if err == nil {
		defer r.release(at)
		err = unix.Mkdirat(at.dir, at.base, uint32(perm.Perm()))
	}
	return pathError("mkdir", name, err)
}

// Remove implements FS.
func (r *Real) Remove(name string) error {
	at, err := r.find(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	defer r.release(at)
	// One call for files and one for directories: nothing says which it is.
	err = unix.Unlinkat(at.dir, at.base, 0)
	if err != nil {
		if dirErr := unix.Unlinkat(at.dir, at.base, unix.AT_REMOVEDIR); dirErr != unix.ENOTDIR {
			err = dirErr
		}
	}
	return pathError("remove", name, err)
}

// Link implements FS.
func (r *Real) Link(oldname, newname string) error {
	return linkError("link", oldname, newname, r.both(oldname, newname, func(from, to entry) error {
		return unix.Linkat(from.dir, from.base, to.dir, to.base, 0)
	}))
}

// Move implements FS.
func (r *Real) Move(oldname, newname string) error {
	return linkError("move", oldname, newname, r.both(oldname, newname, func(from, to entry) error {
		err := renameNew(from, to)
		var st unix.Stat_t
		if err != unix.ENOSYS && err != unix.EINVAL || unix.Fstatat(from.dir, from.base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && mode(&st).IsDir() {
			return err // EINVAL of a directory: into itself
		}
		if err := unix.Linkat(from.dir, from.base, to.dir, to.base, 0); err != nil {
			return err
		}
		return unix.Unlinkat(from.dir, from.base, 0)
	}))
}

// Rename implements FS.
func (r *Real) Rename(oldname, newname string) error {
	return linkError("rename", oldname, newname, r.both(oldname, newname, func(from, to entry) error {
		var st unix.Stat_t
		if err := unix.Fstatat(from.dir, from.base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		// As os.Rename has it: a directory is never replaced.
		if unix.Fstatat(to.dir, to.base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && mode(&st).IsDir() {
			return unix.EEXIST
		}
		return unix.Renameat(from.dir, from.base, to.dir, to.base)
	}))
}

func (r *Real) both(oldname, newname string, do func(from, to entry) error) error {
	from, err := r.find(oldname)
	if err != nil {
		return err
	}
	defer r.release(from)
	if dir, base := path.Split(newname); dir == oldname[:len(oldname)-len(from.base)] {
		if _, _, err := parent(newname); err != nil {
			return err
		}
		return do(from, entry{dir: from.dir, base: base})
	}
	to, err := r.find(newname)
	if err != nil {
		return err
	}
	defer r.release(to)
	return do(from, to)
}

// Lstat implements FS.
func (r *Real) Lstat(name string) (fs.FileInfo, error) {
	at, err := r.find(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	defer r.release(at)
	var st unix.Stat_t
	if err := unix.Fstatat(at.dir, at.base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, pathError("lstat", name, err)
	}
	return statInfo(at.base, &st), nil
}

// Chmod sets the permission bits of name, never through a symlink. It is no
// part of FS: mail needs it nowhere, only who mends an office does.
func (r *Real) Chmod(name string, perm fs.FileMode) error {
	at, err := r.find(name)
	if err != nil {
		return pathError("chmod", name, err)
	}
	defer r.release(at)
	err = unix.Fchmodat(at.dir, at.base, uint32(perm.Perm()), unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS { // Linux before 6.6
		var fd int
		if fd, err = r.openFD(name, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			err = unix.Fchmod(fd, uint32(perm.Perm()))
			unix.Close(fd)
		}
	}
	return pathError("chmod", name, err)
}

// SyncDir implements FS.
func (r *Real) SyncDir(name string) error {
	fd, err := r.openFD(name, os.O_RDONLY|directory, 0)
	if err != nil {
		return pathError("sync", name, err)
	}
	defer unix.Close(fd)
	if err := again(func() error { return unix.Fsync(fd) }); err != nil {
		return pathError("sync", name, err)
	}
	if !r.held.same(name, fd) {
		return pathError("sync", name, errReplaced)
	}
	return nil
}

// entry is a name taken apart: the open directory that holds it, and its name
// there.
type entry struct {
	dir  int
	base string
	held *heldDir // that dir is of, if it is kept
}

// find opens the directory that holds name.
func (r *Real) find(name string) (entry, error) {
	dir, base, err := parent(name)
	if err != nil || dir == "." {
		return entry{dir: r.fd, base: base}, err
	}
	if d := r.held.get(dir); d != nil {
		return entry{d.fd, base, d}, nil
	}
	if strings.Contains(dir, "/") && !r.walk.Load() {
		fd, err, ok := openBeneath(r.fd, dir, openDir, 0)
		if ok && err == nil {
			return entry{fd, base, r.held.keep(dir, fd)}, nil
		}
		r.walk.Store(err == unix.ENOSYS)
	}
	return r.findIn(dir, base) // its errors are the precise ones
}

// findIn opens the directories down to dir one after the other.
func (r *Real) findIn(dir, base string) (entry, error) {
	at := entry{dir: r.fd, base: base}
	if dir == "." {
		return at, nil
	}
	for d := range strings.SplitSeq(dir, "/") {
		next, err := openat(at.dir, d, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		r.release(at)
		if err != nil {
			return entry{}, err
		}
		at.dir = next
	}
	return at, nil
}

func (r *Real) release(at entry) {
	switch {
	case at.held != nil:
		r.held.put(at.held)
	case at.dir != r.fd:
		unix.Close(at.dir)
	}
}

func openat(dir int, name string, flag int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flag|unix.O_CLOEXEC, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func statInfo(base string, st *unix.Stat_t) fs.FileInfo {
	sys := Sys{Dev: uint64(st.Dev), Ino: st.Ino, Nlink: int(st.Nlink), Changed: time.Unix(st.Ctim.Unix()), Owner: int(st.Uid)}
	return info{base, st.Size, mode(st), time.Unix(st.Mtim.Unix()), sys}
}

func mode(st *unix.Stat_t) fs.FileMode {
	perm := fs.FileMode(st.Mode) & fs.ModePerm
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return perm
	case unix.S_IFDIR:
		return perm | fs.ModeDir
	case unix.S_IFLNK:
		return perm | fs.ModeSymlink
	case unix.S_IFIFO:
		return perm | fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return perm | fs.ModeSocket
	}
	return perm | fs.ModeDevice
}

// IsReadOnly reports whether err says that the file system is mounted read-only.
func IsReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// IsFull reports whether err says that there is no room, for now.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
