package vfs_test

import (
	"io/fs"
	"os"
	"sync"
	"testing"

	. "github.com/postroom/postroom/internal/vfs"
)

// The whole contract holds while directories are kept open.
func TestHoldSeesChanges(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		release := Hold(s)
		defer release()
		must(t, s.Mkdir("a", 0o700), s.Mkdir("a/b", 0o700), put(s, "a/b/x", "1"), s.Link("a/b/x", "a/b/y"), s.SyncDir("a/b"))
		must(t, s.Remove("a/b/x"))
		_, err := s.Lstat("a/b/x")
		wantErr(t, err, fs.ErrNotExist)
		must(t, s.Move("a/b/y", "a/z"), s.SyncDir("a"))
		_, err = s.Lstat("a/b/y")
		wantErr(t, err, fs.ErrNotExist)
		must(t, s.SyncDir("a/b"))
		release()
		release()
		must(t, put(s, "a/b/w", "2"), s.SyncDir("a/b"))
	})
}

// What went into a directory that has lost its name is not durable where the
// name leads.
func TestHoldReplaced(t *testing.T) {
	t.Parallel()
	s := openReal(t, t.TempDir())
	defer Hold(s.FS)()
	must(t, s.Mkdir("a", 0o700), s.Mkdir("a/b", 0o700), put(s, "a/b/x", "1"))
	_, err := s.Lstat("a/b/x")
	must(t, err, os.Rename(s.Path("a/b"), s.Path("a/old")), s.Mkdir("a/b", 0o700), put(s, "a/old/z", "1"))
	must(t, s.Link("a/old/z", "a/b/new"))
	if err := s.SyncDir("a/b"); err == nil {
		if _, err := s.Lstat("a/b/new"); err != nil {
			t.Fatal("synced, and the name is not there:", err)
		}
	}
	must(t, s.SyncDir("a/b")) // the next try goes where the name leads
	must(t, s.Link("a/old/z", "a/b/again"))
	if _, err := os.Lstat(s.Path("a/b/again")); err != nil {
		t.Fatal(err)
	}
}

func TestHoldBySeveral(t *testing.T) {
	t.Parallel()
	s := openReal(t, t.TempDir())
	must(t, s.Mkdir("a", 0o700), s.Mkdir("a/b", 0o700), put(s, "a/b/x", "1"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				release := Hold(s.FS)
				if _, err := s.Lstat("a/b/x"); err != nil {
					t.Error(err)
				}
				if err := s.SyncDir("a/b"); err != nil {
					t.Error(err)
				}
				release()
			}
		})
	}
	wg.Wait()
}
