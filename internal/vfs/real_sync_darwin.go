package vfs

import "golang.org/x/sys/unix"

// syncFD: fsync there stops at the drive's cache.
func syncFD(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	return err
}
