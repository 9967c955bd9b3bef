package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/postroom/postroom/internal/vfs"
	"pgregory.net/rapid"
)

// class is what callers may tell apart about an error.
func class(err error) string {
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, ErrNotRegular} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "other"
	}
	return "ok"
}

// visible lists everything below dir.
func visible(s FS, dir string) string {
	names, err := s.ReadNames(dir)
	if err != nil {
		return class(err)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		name = strings.TrimPrefix(dir+"/"+name, "./")
		fi, err := s.Lstat(name)
		if err != nil {
			return class(err)
		}
		fmt.Fprintf(&b, "%s %v", name, fi.Mode())
		if fi.IsDir() {
			b.WriteString("\n" + visible(s, name))
			continue
		}
		c, err := get(s, name)
		fmt.Fprintf(&b, " %q %s\n", c, class(err))
	}
	return b.String()
}

// step is one call, the same on each system.
func step(t *rapid.T) func(s system) string {
	name := rapid.SampledFrom([]string{"a", "b", "c", "a/a", "a/b", "b/a", "b/c", "b/a/a", "c/a/b"})
	a, b := name.Draw(t, "name"), name.Draw(t, "other")
	data := rapid.SampledFrom([]string{"", "x", "four"}).Draw(t, "data")
	off := rapid.Int64Range(0, 6).Draw(t, "offset")
	flag := rapid.SampledFrom([]int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR}).Draw(t, "access") |
		rapid.SampledFrom([]int{0, os.O_CREATE, os.O_CREATE | os.O_EXCL, os.O_APPEND}).Draw(t, "flag")
	switch op := rapid.IntRange(0, 8).Draw(t, "op"); op {
	case 0:
		return func(s system) string { return class(s.Mkdir(a, 0o700)) }
	case 1:
		return func(s system) string { return class(s.Link(a, b)) }
	case 2:
		return func(s system) string { return class(s.Rename(a, b)) }
	case 3:
		return func(s system) string { return class(s.Remove(a)) }
	case 4:
		// At the top only: planting goes by path, which follows other symlinks.
		return func(s system) string { return class(s.symlink(b, a[:1])) }
	case 5:
		return func(s system) string { return class(put(s, a, data)) }
	case 6:
		return func(s system) string { return class(s.SyncDir(a)) }
	case 7:
		return func(s system) string { return class(s.Move(a, b)) }
	default:
		return func(s system) string { return edit(s, a, flag, data, off) }
	}
}

func edit(s system, name string, flag int, data string, off int64) string {
	f, err := s.OpenFile(name, flag, 0o600)
	if err != nil {
		return class(err)
	}
	defer f.Close()
	n, err := f.Write([]byte(data))
	at, errAt := f.WriteAt([]byte(data), off)
	p := make([]byte, 3)
	r, errRead := f.ReadAt(p, off)
	errCut := f.Truncate(off)
	return fmt.Sprint(n, err == nil, at, errAt == nil, string(p[:r]), errRead == nil, errCut == nil, class(f.Sync()))
}

// Whatever is done, Mem shows what Real shows.
func TestMemIsLikeReal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		r, err := OpenReal(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer r.Close()
		m := newMem()
		rs := system{r, func(target, name string) error { return os.Symlink(target, r.Path(name)) }, nil}
		ms := system{m, m.Symlink, nil}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			do := step(rt)
			if real, mem := do(rs), do(ms); real != mem {
				rt.Fatalf("real says %s, mem %s; mem has\n%s", real, mem, m)
			}
		}
		if real, mem := visible(r, "."), visible(m, "."); real != mem {
			rt.Fatalf("real:\n%s\nmem:\n%s", real, mem)
		}
	})
}
