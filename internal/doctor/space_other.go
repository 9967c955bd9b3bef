//go:build unix && !linux && !darwin && !freebsd

package doctor

// space cannot tell on this system.
func space(string) (uint64, bool) { return 0, false }
