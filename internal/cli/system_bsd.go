//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"time"

	"golang.org/x/sys/unix"
)

func isTerminal(fd uintptr) bool {
	_, err := unix.IoctlGetTermios(int(fd), unix.TIOCGETA)
	return err == nil
}

func bootTime() (id string, since time.Duration, ok bool) { return "", 0, false }
