package vfs

import "golang.org/x/sys/unix"

// openDir opens a directory for nothing but names below it.
const openDir = unix.O_PATH | unix.O_DIRECTORY

// openBeneath opens a whole path below dir in one call that follows no symlink
// in any component. ok is false where the kernel, or a sandbox, does not know
// the call: then the path is walked.
func openBeneath(dir int, name string, flag int, perm uint32) (fd int, err error, ok bool) {
	how := unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	if flag&unix.O_CREAT != 0 {
		how.Mode = uint64(perm)
	}
	for {
		fd, err = unix.Openat2(dir, name, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN: // EAGAIN: something was renamed meanwhile
			continue
		case unix.ENOSYS, unix.EPERM, unix.E2BIG:
			return -1, err, false
		}
		return fd, err, true
	}
}

// renameNew renames without replacing, in one call; ENOSYS or EINVAL where the
// kernel or the file system has none.
func renameNew(from, to entry) error {
	return unix.Renameat2(from.dir, from.base, to.dir, to.base, unix.RENAME_NOREPLACE)
}
