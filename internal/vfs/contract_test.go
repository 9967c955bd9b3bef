package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/postroom/postroom/internal/vfs"
)

// system is a file system under the contract, with the way to plant what the
// FS interface refuses to make.
type system struct {
	FS
	symlink func(target, name string) error
	fifo    func(name string) error // nil where the system has none
}

// eachSystem runs the test on every implementation.
func eachSystem(t *testing.T, test func(t *testing.T, s system)) {
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		test(t, openReal(t, t.TempDir()))
	})
	t.Run("real without openat2", func(t *testing.T) {
		t.Parallel()
		s := openReal(t, t.TempDir())
		Walk(s.FS.(*Real))
		test(t, s)
	})
	t.Run("mem", func(t *testing.T) {
		t.Parallel()
		m := newMem()
		test(t, system{m, m.Symlink, m.Mkfifo})
	})
	t.Run("fault", func(t *testing.T) {
		t.Parallel()
		m := newMem()
		test(t, system{new(Fault).Wrap(m), m.Symlink, m.Mkfifo})
	})
}

func openReal(t *testing.T, dir string) system {
	t.Helper()
	r, err := OpenReal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	symlink := func(target, name string) error { return os.Symlink(target, r.Path(name)) }
	return system{r, symlink, mkfifoIn(r)}
}

func newMem() *Mem {
	start := time.Date(2026, 5, 30, 14, 3, 11, 0, time.UTC)
	return NewMem(func() time.Time { return start })
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func open(t *testing.T, s FS, name string, flag int) File {
	t.Helper()
	f, err := s.OpenFile(name, flag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// put writes and syncs a file without syncing its directory.
func put(s FS, name, content string) error {
	f, err := s.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write([]byte(content)); err != nil {
		return err
	}
	return f.Sync()
}

// get returns the content of a file, or "" and the error.
func get(s FS, name string) (string, error) {
	f, err := s.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

func wantContent(t *testing.T, s FS, name, want string) {
	t.Helper()
	got, err := get(s, name)
	if err != nil || got != want {
		t.Fatalf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

func TestOpenFlags(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		_, err := s.OpenFile("a", os.O_RDWR, 0)
		wantErr(t, err, fs.ErrNotExist)
		_, err = s.OpenFile("no/a", os.O_RDWR|os.O_CREATE, 0o600)
		wantErr(t, err, fs.ErrNotExist)

		must(t, put(s, "a", "hello"))
		_, err = s.OpenFile("a", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		wantErr(t, err, fs.ErrExist)
		_, err = s.OpenFile("a/b", os.O_RDONLY, 0)
		if err == nil {
			t.Fatal("opened a file below a file")
		}

		f := open(t, s, "a", os.O_WRONLY|os.O_APPEND)
		_, err = f.Write([]byte(" you"))
		must(t, err)
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			t.Fatal("WriteAt on a file opened to append")
		}
		if _, err := f.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Fatalf("read of a file opened to write: %v", err)
		}
		wantContent(t, s, "a", "hello you")

		r := open(t, s, "a", os.O_RDONLY)
		if _, err := r.Write([]byte("x")); err == nil {
			t.Fatal("wrote to a file opened to read")
		}
		if err := r.Truncate(0); err == nil {
			t.Fatal("truncated a file opened to read")
		}

		open(t, s, "a", os.O_RDWR|os.O_CREATE)
		wantContent(t, s, "a", "hello you")
		open(t, s, "a", os.O_RDWR|os.O_TRUNC)
		wantContent(t, s, "a", "")
	})
}

func TestFile(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		f := open(t, s, "a", os.O_RDWR|os.O_CREATE|os.O_EXCL)
		_, err := f.WriteAt([]byte("end"), 5)
		must(t, err)
		wantContent(t, s, "a", "\x00\x00\x00\x00\x00end")
		_, err = f.Write([]byte("start"))
		must(t, err)
		must(t, f.Truncate(7))
		wantContent(t, s, "a", "starten")

		p := make([]byte, 4)
		if n, err := f.ReadAt(p, 5); n != 2 || err != io.EOF {
			t.Fatalf("ReadAt over the end: %d, %v", n, err)
		}
		if n, err := f.Read(p); n != 2 || err != nil {
			t.Fatalf("Read after a write of 5: %d, %v", n, err)
		}
		if n, err := f.Read(p); n != 0 || err != io.EOF {
			t.Fatalf("Read at the end: %d, %v", n, err)
		}
		fi, err := f.Stat()
		must(t, err)
		if fi.Size() != 7 || fi.Name() != "a" || !fi.Mode().IsRegular() || fi.Mode().Perm() != 0o600 {
			t.Fatalf("Stat: %v", fs.FormatFileInfo(fi))
		}
		must(t, s.Remove("a"))
		wantRead := make([]byte, 5)
		if _, err := f.ReadAt(wantRead, 0); err != nil || string(wantRead) != "start" {
			t.Fatalf("an open file after its name is gone: %q, %v", wantRead, err)
		}
		must(t, f.Close())
		wantErr(t, f.Close(), fs.ErrClosed)
		_, err = f.Write(nil)
		wantErr(t, err, fs.ErrClosed)
	})
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, s.Mkdir("d", 0o700), s.Mkdir("d/e", 0o700), put(s, "d/x", "1"), put(s, "d/.y", "2"))
		wantErr(t, s.Mkdir("d", 0o700), fs.ErrExist)
		wantErr(t, s.Mkdir("no/d", 0o700), fs.ErrNotExist)
		names, err := s.ReadNames("d")
		must(t, err)
		slices.Sort(names)
		if !slices.Equal(names, []string{".y", "e", "x"}) {
			t.Fatalf("names %q", names)
		}
		_, err = s.ReadNames("no")
		wantErr(t, err, fs.ErrNotExist)
		if _, err = s.ReadNames("d/x"); err == nil {
			t.Fatal("listed a file")
		}

		f := open(t, s, "d", os.O_RDONLY)
		if fi, err := f.Stat(); err != nil || !fi.IsDir() {
			t.Fatalf("a directory opened read-only: %v, %v", fi, err)
		}
		if _, err := s.OpenFile("d", os.O_RDWR, 0); err == nil {
			t.Fatal("opened a directory to write")
		}
		must(t, s.SyncDir("."), s.SyncDir("d"))
		if runtime.GOOS != "windows" {
			wantErr(t, s.SyncDir("no"), fs.ErrNotExist)
		}
		if err := s.Remove("d"); err == nil {
			t.Fatal("removed a directory that is not empty")
		}
		must(t, s.Remove("d/e"), s.Remove("d/x"), s.Remove("d/.y"), s.Remove("d"))
		wantErr(t, s.Remove("d"), fs.ErrNotExist)
		_, err = s.Lstat("d")
		wantErr(t, err, fs.ErrNotExist)
	})
}

func TestLink(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, s.Mkdir("d", 0o700), put(s, "a", "1"), put(s, "b", "2"), put(s, "d/b", "3"))
		wantErr(t, s.Link("a", "b"), fs.ErrExist)
		wantErr(t, s.Link("a", "d/b"), fs.ErrExist)
		wantErr(t, s.Link("a", "d"), fs.ErrExist)
		wantErr(t, s.Link("no", "c"), fs.ErrNotExist)
		wantErr(t, s.Link("a", "no/c"), fs.ErrNotExist)
		wantContent(t, s, "d/b", "3")

		must(t, s.Link("a", "c"), s.Link("a", "d/c"), s.Link("d/c", "e"))
		wantContent(t, s, "d/c", "1")
		must(t, put(s, "d/c", "new"))
		wantContent(t, s, "e", "new")
		must(t, s.Remove("a"))
		wantContent(t, s, "c", "new")
		if err := s.Link("d", "d2"); err == nil {
			t.Fatal("linked a directory")
		}
	})
}

func TestInode(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, put(s, "a", "1"), put(s, "b", "1"), s.Link("a", "c"))
		stat := func(name string) fs.FileInfo {
			fi, err := s.Lstat(name)
			must(t, err)
			if _, _, ok := Inode(fi); !ok && runtime.GOOS != "windows" {
				t.Fatal("no inode")
			}
			return fi
		}
		opened, err := open(t, s, "c", os.O_RDONLY).Stat()
		must(t, err)
		if !SameFile(stat("a"), stat("c")) || !SameFile(stat("a"), opened) {
			t.Fatal("two names of one file are two files")
		}
		if SameFile(stat("a"), stat("b")) {
			t.Fatal("two files are one")
		}
		if sys, ok := stat("a").Sys().(Sys); ok && sys.Nlink != 2 {
			t.Fatalf("%d links", sys.Nlink)
		}
	})
}

func TestMove(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, s.Mkdir("d", 0o700), put(s, "a", "1"), put(s, "b", "2"))
		for _, to := range []string{"b", "a", "d"} {
			wantErr(t, s.Move("a", to), fs.ErrExist)
		}
		wantContent(t, s, "b", "2")
		must(t, s.Move("a", "d/a"))
		wantContent(t, s, "d/a", "1")
		_, err := s.Lstat("a")
		wantErr(t, err, fs.ErrNotExist)
		must(t, s.Move("d/a", "d/c"))
		wantContent(t, s, "d/c", "1")
		wantErr(t, s.Move("d/a", "d/x"), fs.ErrNotExist)
		wantErr(t, s.Move("d/c", "no/x"), fs.ErrNotExist)
		wantErr(t, s.Move("d/c", "../x"), fs.ErrInvalid)
	})
}

func TestRename(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, s.Mkdir("d", 0o700), put(s, "a", "1"), put(s, "b", "2"), put(s, "d/b", "3"))
		must(t, s.Rename("a", "b"))
		wantContent(t, s, "b", "1")
		must(t, s.Rename("b", "d/b"))
		wantContent(t, s, "d/b", "1")
		_, err := s.Lstat("b")
		wantErr(t, err, fs.ErrNotExist)
		wantErr(t, s.Rename("b", "c"), fs.ErrNotExist)
		wantErr(t, s.Rename("d/b", "no/c"), fs.ErrNotExist)
		must(t, s.Mkdir("empty", 0o700), s.Mkdir("d/empty", 0o700))
		for _, dir := range []string{"empty", "d/empty", "d"} {
			wantErr(t, s.Rename("d", dir), fs.ErrExist)
			wantErr(t, s.Rename("d/b", dir), fs.ErrExist)
		}
		must(t, s.Rename("d", "e"))
		wantContent(t, s, "e/b", "1")
	})
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, put(s, "a", "1"))
		for _, name := range []string{"", "/a", "../a", "a/", "./a", "a//b", "a/../b", "a\x00"} {
			_, err := s.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
			wantErr(t, err, fs.ErrInvalid)
			_, err = s.Lstat(name)
			wantErr(t, err, fs.ErrInvalid)
			wantErr(t, s.Mkdir(name, 0o700), fs.ErrInvalid)
			wantErr(t, s.Remove(name), fs.ErrInvalid)
			wantErr(t, s.Link("a", name), fs.ErrInvalid)
			wantErr(t, s.Link(name, "b"), fs.ErrInvalid)
			wantErr(t, s.Rename("a", name), fs.ErrInvalid)
		}
		if _, err := s.OpenFile(strings.Repeat("n", 256), os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			t.Fatal("made a name of 256 bytes")
		}
	})
}

// Nobody who may write below the root can lead a call elsewhere, inside the
// root or out of it.
func TestSymlinks(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, s.Mkdir("ann", 0o700), put(s, "ann/x", "ann's"), s.Mkdir("bob", 0o700), put(s, "m", "mail"))
		must(t, s.symlink("../ann", "bob/dir"), s.symlink("../ann/x", "bob/file"),
			s.symlink("../ann/new", "bob/dangling"), s.symlink("/", "bob/out"))

		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_APPEND} {
			for _, name := range []string{"bob/file", "bob/dangling", "bob/dir", "bob/out"} {
				_, err := s.OpenFile(name, flag, 0o600)
				wantErr(t, err, ErrNotRegular)
			}
		}
		_, err := s.OpenFile("bob/dangling", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		wantErr(t, err, fs.ErrExist)
		fi, err := s.Lstat("bob/file")
		must(t, err)
		if fi.Mode().Type() != fs.ModeSymlink {
			t.Fatalf("Lstat: %v", fi.Mode())
		}
		if _, err = s.ReadNames("bob/dir"); err == nil {
			t.Fatal("listed through a symlink")
		}

		_, err = s.Lstat("bob/dir/x")
		refused := map[string]error{
			"lstat":     err,
			"link to":   s.Link("m", "bob/dir/m"),
			"link from": s.Link("bob/dir/x", "stolen"),
			"rename":    s.Rename("m", "bob/dir/m"),
			"take":      s.Rename("bob/dir/x", "stolen"),
			"move":      s.Move("m", "bob/dir/m"),
			"mkdir":     s.Mkdir("bob/dir/d", 0o700),
			"remove":    s.Remove("bob/dir/x"),
			"create":    put(s, "bob/dir/y", "forged"),
		}
		for op, err := range refused {
			if err == nil {
				t.Errorf("%s went through a symlink", op)
			}
		}
		must(t, s.Remove("bob/file"), s.Remove("bob/dir"))
		names, err := s.ReadNames("ann")
		must(t, err)
		if !slices.Equal(names, []string{"x"}) {
			t.Fatalf("ann has %q", names)
		}
		wantContent(t, s, "ann/x", "ann's")
	})
}

func TestFIFO(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		if s.fifo == nil {
			return
		}
		must(t, s.fifo("p"))
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE} {
			_, err := s.OpenFile("p", flag, 0o600)
			wantErr(t, err, ErrNotRegular)
		}
		if _, err := s.Lstat("p/x"); err == nil {
			t.Fatal("went through a FIFO")
		}
		if _, err := s.ReadNames("p"); err == nil {
			t.Fatal("listed a FIFO")
		}
		if _, err := OpenReal(s.Path("p")); err == nil {
			t.Fatal("a FIFO as the root")
		}
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	eachSystem(t, func(t *testing.T, s system) {
		must(t, put(s, "lease", ""), s.Link("lease", "other"))
		lock := func(f File, want bool) {
			t.Helper()
			if got, err := f.TryLock(); got != want || err != nil {
				t.Fatalf("TryLock: %v, %v; want %v", got, err, want)
			}
		}
		a, b := open(t, s, "lease", os.O_RDWR), open(t, s, "other", os.O_RDWR)
		lock(a, true)
		lock(b, false)
		must(t, s.Remove("lease"), put(s, "lease", ""))
		lock(open(t, s, "lease", os.O_RDWR), true) // another file, whatever its name
		must(t, b.Close(), a.Close())
		lock(open(t, s, "other", os.O_RDWR), true)
	})
}

func TestPath(t *testing.T) {
	t.Parallel()
	m := newMem()
	must(t, m.Mkdir("a", 0o700), m.Mkdir("a/b", 0o700))
	sub, err := m.Sub("a")
	must(t, err)
	again, err := m.Sub(sub.Path("b"))
	must(t, err)
	if got := again.Path("c/d"); got != "/a/b/c/d" {
		t.Fatalf("Path: %s", got)
	}
	dir := t.TempDir()
	if got := openReal(t, dir).Path("c/d"); got != filepath.Join(dir, "c", "d") {
		t.Fatalf("Path: %s", got)
	}
}
