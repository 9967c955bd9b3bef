//go:build unix

package doctor

import (
	"errors"
	"os"
	"syscall"
)

func (h *Host) system() {
	h.Owner = func(path string) (int, bool) {
		fi, err := os.Stat(path)
		if err != nil {
			return 0, false
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok {
			return 0, false
		}
		return int(st.Uid), true
	}
	h.Space = space
	h.Alive = func(pid int) (bool, bool) {
		if pid <= 0 {
			return false, false
		}
		err := syscall.Kill(pid, 0)
		return !errors.Is(err, syscall.ESRCH), true
	}
	h.Routers = routers
}
