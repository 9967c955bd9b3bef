package vfs_test

import (
	"io/fs"
	"os"
	"testing"
	"time"

	. "github.com/postroom/postroom/internal/vfs"
)

func TestMemPermissions(t *testing.T) {
	t.Parallel()
	m := newMem()
	must(t, m.Mkdir("d", 0o700), put(m, "d/a", "1"), put(m, "b", "2"))
	must(t, m.Chmod("d/a", 0o400), m.Chmod("d", 0o500))
	_, err := m.OpenFile("d/a", os.O_RDWR, 0)
	wantErr(t, err, fs.ErrPermission)
	wantContent(t, m, "d/a", "1")
	for _, err := range []error{
		put(m, "d/new", ""), m.Mkdir("d/new", 0o700), m.Remove("d/a"),
		m.Link("b", "d/b"), m.Rename("b", "d/b"), m.Rename("d/a", "a"),
	} {
		wantErr(t, err, fs.ErrPermission)
	}
	wantContent(t, m, "b", "2")
	must(t, m.Chmod("d", 0o600))
	_, err = m.Lstat("d/a")
	wantErr(t, err, fs.ErrPermission)
}

func TestMemTimes(t *testing.T) {
	t.Parallel()
	now := time.Unix(100, 0)
	m := NewMem(func() time.Time { return now })
	mtime := func() int64 {
		fi, err := m.Lstat("a")
		must(t, err)
		return fi.ModTime().Unix()
	}
	must(t, put(m, "a", "1"))
	now = now.Add(time.Hour)
	if got := mtime(); got != 100 {
		t.Fatalf("mtime %d", got)
	}
	must(t, put(m, "a", "2"))
	if got := mtime(); got != 3700 {
		t.Fatalf("mtime after a write %d", got)
	}
	must(t, m.SetModTime("a", time.Unix(7, 0)))
	if got := mtime(); got != 7 {
		t.Fatalf("mtime set to %d", got)
	}
}

func TestMemSub(t *testing.T) {
	t.Parallel()
	m := newMem()
	_, err := m.Sub("box")
	wantErr(t, err, fs.ErrNotExist)
	must(t, m.Mkdir("box", 0o700))
	box, err := m.Sub("box")
	must(t, err)
	must(t, m.Rename("box", "moved"), put(box, "a", "1"))
	wantContent(t, m, "moved/a", "1")
	must(t, put(m, "secret", ""), m.Symlink("..", "moved/up"))
	_, err = box.Lstat("up/secret")
	if err == nil {
		t.Fatal("left the root")
	}
	fi, err := m.Lstat("moved/a")
	must(t, err)
	if sys := fi.Sys().(Sys); sys.Nlink != 1 {
		t.Fatalf("Sys %+v", sys)
	}
}
