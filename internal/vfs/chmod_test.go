//go:build unix

package vfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/postroom/postroom/internal/vfs"
)

func TestChmod(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o644), os.Mkdir(filepath.Join(dir, "dir"), 0o755),
		os.WriteFile(outside, nil, 0o644), os.Symlink(outside, filepath.Join(dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := vfs.OpenReal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, perm := range map[string]os.FileMode{"file": 0o600, "dir": 0o700, ".": 0o700} {
		if err := r.Chmod(name, perm); err != nil {
			t.Fatal(err)
		}
		if fi, err := r.Lstat(name); err != nil || fi.Mode().Perm() != perm {
			t.Errorf("%s: %v %v", name, fi.Mode(), err)
		}
	}
	if err := r.Chmod("link", 0o600); err == nil {
		t.Error("went through a symlink")
	}
	if fi, err := os.Stat(outside); err != nil || fi.Mode().Perm() != 0o644 {
		t.Errorf("outside: %v %v", fi.Mode(), err)
	}
}
