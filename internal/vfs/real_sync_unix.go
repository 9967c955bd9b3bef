//go:build unix && !darwin

package vfs

import "golang.org/x/sys/unix"

func syncFD(fd int) error { return unix.Fsync(fd) }
