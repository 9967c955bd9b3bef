//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// shut reports whether f stands for a file that was closed when we were started:
// the Go runtime puts the null device in its place, open for reading and
// writing. A shell's >/dev/null is open for writing only, and somebody's wish.
func shut(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	fi, err := f.Stat()
	return err == nil && os.SameFile(fi, null)
}
