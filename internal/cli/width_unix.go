//go:build unix

package cli

import "golang.org/x/sys/unix"

// terminalWidth is how many columns a terminal has; 0 if it is none.
func terminalWidth(fd uintptr) int {
	size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
