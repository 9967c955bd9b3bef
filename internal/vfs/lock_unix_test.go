//go:build unix

package vfs

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A child between fork and exec has every open file of its parent, so a lock
// that is only closed stays taken for a moment after its release.
func TestCloseUnlocks(t *testing.T) {
	t.Parallel()
	r, err := OpenReal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	open := func() File {
		f, err := r.OpenFile("lease", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	held := open()
	if ok, err := held.TryLock(); !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	forked, err := unix.FcntlInt(uintptr(held.(*realFile).fd.Load()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(forked)
	other := open()
	defer other.Close()
	if ok, err := other.TryLock(); ok || err != nil {
		t.Fatalf("a second lock: %v, %v", ok, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Errorf("after the release: %v, %v", ok, err)
	}
}

// What this process opens is not open in a child's program.
func TestOpenFilesAreNotInherited(t *testing.T) {
	t.Parallel()
	r, err := OpenReal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, walk := range []bool{false, true} {
		r.walk.Store(walk)
		f, err := r.OpenFile("lease", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		flags, err := unix.FcntlInt(uintptr(f.(*realFile).fd.Load()), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("walking %v: flags %#x, %v", walk, flags, err)
		}
	}
}
