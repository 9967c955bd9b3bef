//go:build !linux

package debt

import "time"

// BootClock reports false: this system has no boot clock that we know of.
func BootClock() (bootID string, d time.Duration, ok bool) { return "", 0, false }
