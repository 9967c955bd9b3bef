//go:build unix

package vfs

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	nonblock  = syscall.O_NONBLOCK
	directory = syscall.O_DIRECTORY
	dirsSync  = true
)

// linkAcross and renameAcross work on two open directories: os.Root has these
// calls only for names below one root, where it would follow symlinks.

func (r *Real) linkAcross(from, to place) error {
	return atBoth(from, to, func(oldfd, newfd int) error {
		return unix.Linkat(oldfd, from.base, newfd, to.base, 0)
	})
}

func (r *Real) renameAcross(from, to place) error {
	return atBoth(from, to, func(oldfd, newfd int) error {
		return unix.Renameat(oldfd, from.base, newfd, to.base)
	})
}

func atBoth(from, to place, do func(oldfd, newfd int) error) error {
	a, err := from.dir.OpenFile(".", os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := to.dir.OpenFile(".", os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer b.Close()
	for {
		if err := do(int(a.Fd()), int(b.Fd())); err != unix.EINTR {
			return err
		}
	}
}

func tryLock(fd uintptr) (bool, error) {
	for {
		switch err := unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return false, nil
		default:
			return err == nil, err
		}
	}
}

func inodeOf(fi fs.FileInfo) (dev, ino uint64, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(st.Dev), uint64(st.Ino), true
}
