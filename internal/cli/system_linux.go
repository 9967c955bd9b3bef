package cli

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func isTerminal(fd uintptr) bool {
	_, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
	return err == nil
}

// bootTime names this boot and says how long ago it was, sleep included.
func bootTime() (id string, since time.Duration, ok bool) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, false
	}
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return "", 0, false
	}
	return strings.TrimSpace(string(data)), time.Duration(ts.Nano()), true
}
