//go:build unix

package vfs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// mostHeld bounds how many directories are kept open at a time.
const mostHeld = 64

// holding is what Hold keeps. The zero value keeps nothing.
type holding struct {
	mu    sync.Mutex
	holds int
	dirs  map[string]*heldDir
}

// heldDir is one open directory. It is closed when it is neither kept nor in use.
type heldDir struct {
	fd   int
	uses int
	kept bool
}

// Hold keeps directories open; see vfs.Hold. Safe for several at a time.
func (r *Real) Hold() (release func()) {
	h := &r.held
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.holds--; h.holds > 0 {
			return
		}
		for _, d := range h.dirs {
			d.kept = false
			d.close()
		}
		h.dirs = nil
	})
}

func (d *heldDir) close() {
	if !d.kept && d.uses == 0 {
		unix.Close(d.fd)
	}
}

// get returns the directory if it is kept, and for the caller to put back.
func (h *holding) get(dir string) *heldDir {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.dirs[dir]
	if d != nil {
		d.uses++
	}
	return d
}

// keep takes over fd if directories are kept, and returns it as get does; nil:
// it is the caller's.
func (h *holding) keep(dir string, fd int) *heldDir {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holds == 0 || len(h.dirs) >= mostHeld || h.dirs[dir] != nil {
		return nil
	}
	if h.dirs == nil {
		h.dirs = map[string]*heldDir{}
	}
	d := &heldDir{fd: fd, uses: 1, kept: true}
	h.dirs[dir] = d
	return d
}

func (h *holding) put(d *heldDir) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d.uses--
	d.close()
}

// drop forgets a directory.
func (h *holding) drop(dir string, d *heldDir) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dirs[dir] == d {
		delete(h.dirs, dir)
		d.kept = false
	}
}

// same reports whether the directory that is kept under a name, if one is, is
// the one that fd has open; one that is not is forgotten.
func (h *holding) same(dir string, fd int) bool {
	d := h.get(dir)
	if d == nil {
		return true
	}
	defer h.put(d)
	var a, b unix.Stat_t
	if unix.Fstat(d.fd, &a) == nil && unix.Fstat(fd, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino {
		return true
	}
	h.drop(dir, d)
	return false
}
