package debt

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/postroom/postroom/internal/vfs"
)

// BootClock returns the id of this boot and the time since it, sleep included.
func BootClock() (bootID string, d time.Duration, ok bool) {
	b, err := vfs.ReadSystem("/proc/sys/kernel/random/boot_id", 4<<10)
	if err != nil {
		return "", 0, false
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return "", 0, false
	}
	bootID = strings.TrimSpace(string(b))
	return bootID, time.Duration(ts.Nano()), bootID != ""
}
