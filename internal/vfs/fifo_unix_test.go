//go:build unix

package vfs_test

import (
	"golang.org/x/sys/unix"

	. "github.com/postroom/postroom/internal/vfs"
)

func mkfifoIn(s FS) func(string) error {
	return func(name string) error { return unix.Mkfifo(s.Path(name), 0o600) }
}
