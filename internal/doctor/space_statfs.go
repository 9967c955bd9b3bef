//go:build linux || darwin || freebsd

package doctor

import "golang.org/x/sys/unix"

// space tells how many bytes this user may still write.
func space(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
