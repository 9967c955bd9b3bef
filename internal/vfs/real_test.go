package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"testing"

	. "github.com/postroom/postroom/internal/vfs"
)

// However its owner swaps a file or directory for a symlink while we work, we
// never touch what the symlink points to.
func TestRealRacingSymlinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // symlinks take a privilege there
	}
	s := openReal(t, t.TempDir())
	must(t, s.Mkdir("ann", 0o700), put(s, "ann/x", "ann's"), s.Mkdir("bob", 0o700), put(s, "m", "mail"),
		s.Mkdir("bob/dir", 0o700), put(s, "bob/dir/x", "bob's"), put(s, "bob/file", "bob's"),
		s.symlink("../ann", "bob/dir2"), s.symlink("../ann/x", "bob/file2"))

	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"bob/dir", "bob/file"} {
				// real aside, symlink in, and back
				_ = os.Rename(s.Path(name), s.Path(name+"1"))
				_ = os.Rename(s.Path(name+"2"), s.Path(name))
				_ = os.Rename(s.Path(name), s.Path(name+"2"))
				_ = os.Rename(s.Path(name+"1"), s.Path(name))
			}
		}
	}()
	for range 2000 {
		for _, name := range []string{"bob/dir/x", "bob/file"} {
			if got, err := get(s, name); err == nil && got != "bob's" {
				t.Fatalf("%s led to %q", name, got)
			}
		}
		_ = s.Link("m", "bob/dir/m")
		_ = s.Remove("bob/dir/m")
		_ = s.Mkdir("bob/dir/d", 0o700)
		_ = s.Remove("bob/dir/d")
	}
	close(stop)
	<-stopped
	names, err := s.ReadNames("ann")
	must(t, err)
	if !slices.Equal(names, []string{"x"}) {
		t.Fatalf("ann has %q", names)
	}
}

func TestOpenReal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openReal(t, dir)
	must(t, put(s, "file", ""), s.Mkdir("d", 0o700), put(s, "d/x", "1"))
	_, err := OpenReal(s.Path("no"))
	wantErr(t, err, fs.ErrNotExist)
	if _, err := OpenReal(s.Path("file")); err == nil {
		t.Fatal("opened a file as a root")
	}
	must(t, s.symlink("d", "link"))
	linked := openReal(t, s.Path("link")) // how a person reaches the root is his affair
	wantContent(t, linked, "x", "1")

	var pe *fs.PathError
	_, err = linked.Lstat("no/such")
	if !errors.As(err, &pe) || pe.Path != "no/such" {
		t.Fatalf("error %v does not carry the name as given", err)
	}
}

func BenchmarkReal(b *testing.B) {
	dir := b.TempDir()
	r, err := OpenReal(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	check := func(errs ...error) {
		for _, err := range errs {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	check(r.Mkdir("in", 0o700), r.Mkdir("out", 0o700), put(r, "x", "1"), put(r, "out/x", "1"))
	for _, name := range []string{"x", "out/x"} {
		b.Run("Lstat/"+name, func(b *testing.B) {
			for b.Loop() {
				_, err := r.Lstat(name)
				check(err)
			}
		})
		b.Run("OpenFile/"+name, func(b *testing.B) {
			for b.Loop() {
				f, err := r.OpenFile(name, os.O_RDONLY, 0)
				check(err)
				check(f.Close())
			}
		})
	}
	b.Run("ReadNames", func(b *testing.B) {
		for b.Loop() {
			_, err := r.ReadNames("out")
			check(err)
		}
	})
	b.Run("LinkRemove", func(b *testing.B) {
		for b.Loop() {
			check(r.Link("out/x", "in/x"), r.Remove("in/x"))
		}
	})
	b.Run("OpenReal", func(b *testing.B) {
		for b.Loop() {
			r, err := OpenReal(dir)
			check(err)
			check(r.Close())
		}
	})
}
