package cli

import (
	"time"

	"golang.org/x/sys/windows"
)

func isTerminal(fd uintptr) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(fd), &mode) == nil
}

func bootTime() (id string, since time.Duration, ok bool) { return "", 0, false }
