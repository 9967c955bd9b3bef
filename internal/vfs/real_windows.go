package vfs

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

const (
	nonblock  = 0
	directory = 0
	dirsSync  = false // NTFS journals its directories and has no call for it
)

// The directories were just checked, but by name only: Windows has no link or
// rename between two open directories in reach of os.Root. Creating a symlink
// there takes a privilege that agents do not have by default.

func (r *Real) linkAcross(from, to place) error   { return r.root.Link(from.name, to.name) }
func (r *Real) renameAcross(from, to place) error { return r.root.Rename(from.name, to.name) }

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

// inodeOf knows nothing: FileInfo does not carry the file index on Windows.
func inodeOf(fs.FileInfo) (dev, ino uint64, ok bool) { return 0, 0, false }
