//go:build unix && !linux

package vfs

import "golang.org/x/sys/unix"

const openDir = 0

// openBeneath: only Linux has one call for it.
func openBeneath(int, string, int, uint32) (fd int, err error, ok bool) { return -1, nil, false }

func renameNew(entry, entry) error { return unix.ENOSYS }
