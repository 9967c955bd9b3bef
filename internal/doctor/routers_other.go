//go:build unix && !linux

package doctor

// routers cannot tell on this system.
func routers() ([]string, bool) { return nil, false }
