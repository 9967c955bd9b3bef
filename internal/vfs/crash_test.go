package vfs_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/postroom/postroom/internal/vfs"
)

const limit = 10_000

// contents returns how often each content of name occurs in the crash states of
// m; "-" is for no file.
func contents(m *Mem, name string) map[string]int {
	found := map[string]int{}
	for s := range m.CrashStates(limit) {
		c, err := get(s, name)
		if err != nil {
			c = "-"
		}
		found[c]++
	}
	return found
}

func wantContents(t *testing.T, m *Mem, name string, want ...string) {
	t.Helper()
	got := slices.Sorted(maps.Keys(contents(m, name)))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%s may hold %q, want %q", name, got, want)
	}
}

// tree shows what a program can see of a state.
func tree(s *Mem) string { return s.String() }

func TestCrashStatesAreDistinctAndSettled(t *testing.T) {
	t.Parallel()
	m := newMem()
	must(t, m.Mkdir("d", 0o700), put(m, "d/a", "1"), m.Link("d/a", "b"), m.Rename("d/a", "d/c"))
	f := open(t, m, "b", os.O_RDWR)
	_, err := f.Write([]byte("22"))
	must(t, err)
	_, err = f.TryLock()
	must(t, err)

	before := tree(m)
	seen := map[string]bool{}
	for s := range m.CrashStates(limit) {
		if seen[tree(s)] {
			t.Fatalf("twice:\n%s", tree(s))
		}
		seen[tree(s)] = true
		n := 0
		for again := range s.CrashStates(limit) {
			n++
			if tree(again) != tree(s) {
				t.Fatalf("not settled:\n%s", tree(s))
			}
		}
		if n != 1 {
			t.Fatalf("a crash after the crash leaves %d states", n)
		}
		if b, err := s.OpenFile("b", os.O_RDWR, 0); err == nil {
			if held, err := b.TryLock(); !held || err != nil {
				t.Fatalf("the lock outlived the crash: %v, %v", held, err)
			}
			_, err := b.Write([]byte("changed"))
			must(t, err)
		}
	}
	if tree(m) != before || !seen[before] {
		t.Fatal("looking at the states changed the original, or lost it")
	}
}

func TestCrashStatesAboveLimitPanics(t *testing.T) {
	t.Parallel()
	m := newMem()
	for i := range 4 {
		must(t, put(m, fmt.Sprint(i), ""))
	}
	n := 0
	for range m.CrashStates(16) {
		n++
	}
	if n != 16 {
		t.Fatalf("4 names leave %d states", n)
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "more than 15 states") {
			t.Fatalf("panic %v", r)
		}
	}()
	m.CrashStates(15)
}

func TestCrashData(t *testing.T) {
	t.Parallel()
	m := newMem()
	must(t, put(m, "a", "old"), m.SyncDir("."))
	f := open(t, m, "a", os.O_RDWR|os.O_APPEND)
	_, err := f.Write([]byte("+new"))
	must(t, err)
	wantContents(t, m, "a", "old", "old+n", "old+new", "old\x00\x00\x00\x00")
	must(t, f.Truncate(1))
	wantContents(t, m, "a", "o", "old", "old+n", "old+new", "old\x00\x00\x00\x00")
	must(t, f.Sync())
	wantContents(t, m, "a", "o")

	// Of two writes the first may be lost alone.
	_, err = f.Write([]byte("1"))
	must(t, err)
	_, err = f.Write([]byte("2"))
	must(t, err)
	wantContents(t, m, "a", "o", "o1", "o12", "o\x00", "o\x002", "o\x00\x00", "o1\x00")
}

func TestCrashNameWithoutData(t *testing.T) {
	t.Parallel()
	m := newMem()
	f := open(t, m, "a", os.O_WRONLY|os.O_CREATE)
	_, err := f.Write([]byte("ab"))
	must(t, err, m.SyncDir("."))
	wantContents(t, m, "a", "", "a", "ab", "\x00\x00")
}

func TestCrashDataWithoutName(t *testing.T) {
	t.Parallel()
	m := newMem()
	must(t, m.Mkdir("d", 0o700), put(m, "d/a", "1"), m.SyncDir("d"))
	wantContents(t, m, "d/a", "-", "1") // d's own name was not synced
	must(t, m.SyncDir("."))
	wantContents(t, m, "d/a", "1")
}

// Replacing a file: the name shows the old file or the new one, never none, and
// the new one for certain only after the directory was synced.
func TestCrashReplace(t *testing.T) {
	t.Parallel()
	m := newMem()
	must(t, put(m, "a", "old"), m.SyncDir("."))
	must(t, put(m, ".tmp", "new"), m.Rename(".tmp", "a"))
	wantContents(t, m, "a", "old", "new")
	must(t, m.SyncDir("."))
	wantContents(t, m, "a", "new")
}

// Write, fsync, rename is not durable, and may lose the file altogether;
// the fsync of the directory makes it so.
func TestCrashRenameWithoutSyncDir(t *testing.T) {
	t.Parallel()
	m := newMem()
	must(t, put(m, ".tmp", "mail"), m.Rename(".tmp", "id"))
	wantContents(t, m, "id", "-", "mail")
	if lost(m, ".tmp", "id") == 0 {
		t.Fatal("the model is too kind")
	}
	must(t, m.SyncDir("."))
	wantContents(t, m, "id", "mail")
}

// lost counts the crash states in which none of names holds "mail".
func lost(m *Mem, names ...string) (n int) {
	for s := range m.CrashStates(limit) {
		if !slices.ContainsFunc(names, func(name string) bool {
			c, _ := get(s, name)
			return c == "mail"
		}) {
			n++
		}
	}
	return n
}

// outbox returns a Mem with one durable message in out/id.
func outbox(t *testing.T) *Mem {
	t.Helper()
	m := newMem()
	must(t, m.Mkdir("out", 0o700), m.Mkdir("in", 0o700), put(m, "out/id", "mail"))
	m.SyncAll()
	return m
}

// A rename across directories can lose the file from both, also while the two
// directories are being synced in the wrong order.
func TestCrashRenameAcross(t *testing.T) {
	t.Parallel()
	m := outbox(t)
	must(t, m.Rename("out/id", "in/id"))
	if lost(m, "out/id", "in/id") == 0 {
		t.Fatal("the model is too kind")
	}
	must(t, m.SyncDir("out"))
	if lost(m, "out/id", "in/id") == 0 {
		t.Fatal("the model is too kind after the fsync of the source")
	}
	must(t, m.SyncDir("in"))
	if n := lost(m, "in/id"); n != 0 {
		t.Fatalf("lost in %d states after both fsyncs", n)
	}
}

// Link, fsync of the target directory, unlink, fsync of the source directory
// loses nothing, whichever call the crash follows.
func TestCrashMove(t *testing.T) {
	t.Parallel()
	move := func(s FS) error {
		return errors.Join(s.Link("out/id", "in/id"), s.SyncDir("in"), s.Remove("out/id"), s.SyncDir("out"))
	}
	for n := 1; ; n++ {
		m, fault := outbox(t), new(Fault)
		fault.CrashAfter(n)
		crashed := Crashed(func() { must(t, move(fault.Wrap(m))) })
		if k := lost(m, "out/id", "in/id"); k != 0 {
			t.Fatalf("lost in %d states after %v", k, fault.Calls())
		}
		if !crashed {
			wantContents(t, m, "in/id", "mail")
			wantContents(t, m, "out/id", "-")
			return
		}
	}
}
