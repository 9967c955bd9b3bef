package journal

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// next are the ids of the records that are new.
func next(t *testing.T, f *Follower, m vfs.FS) (ids []string) {
	t.Helper()
	if err := f.Next(m, func(r Record) error { ids = append(ids, string(r.ID)); return nil }); err != nil {
		t.Fatal(err)
	}
	return ids
}

func raw(t *testing.T, m vfs.FS, name, text string, cut int64) {
	t.Helper()
	f, err := m.OpenFile(path(name), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if cut > 0 {
		err = f.Truncate(fi.Size() - cut)
	} else {
		_, err = f.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	m := newMem()
	var all, late Follower
	if err := late.Skip(m); err != nil {
		t.Fatal(err)
	}
	if ids := next(t, &all, m); ids != nil {
		t.Errorf("of no journal: %v", ids)
	}
	j := mustOpen(t, m, day1)
	add := func(rs ...Record) {
		t.Helper()
		if err := j.Append(rs...); err != nil {
			t.Fatal(err)
		}
	}
	add(rec(day1, Delivered, 1), rec(day1, Read, 2))
	if err := late.Skip(m); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what      string
		do        func()
		all, late []string
	}{
		{"what is there", func() {}, []string{"id-1", "id-2"}, nil},
		{"nothing new", func() {}, nil, nil},
		{"one more", func() { add(rec(day1, Delivered, 3)) }, []string{"id-3"}, []string{"id-3"}},
		{"half a line", func() { raw(t, m, file1, `{"n":4,"at":"2026-05-30`, 0) }, nil, nil},
		{"which is cut off", func() { raw(t, m, file1, "", int64(len(`{"n":4,"at":"2026-05-30`))) }, nil, nil},
		{"no record", func() { raw(t, m, file1, "nonsense\n", 0) }, nil, nil},
		{"the next day", func() { add(rec(day2, Delivered, 4)) }, []string{"id-4"}, []string{"id-4"}},
	} {
		step.do()
		if got := next(t, &all, m); !slices.Equal(got, step.all) {
			t.Errorf("%s: %v", step.what, got)
		}
		if got := next(t, &late, m); !slices.Equal(got, step.late) {
			t.Errorf("%s, having skipped: %v", step.what, got)
		}
	}
}

// Records longer than what is read at once come whole, and an error of the
// caller's ends it behind the record that it was about.
func TestFollowLongRecords(t *testing.T) {
	t.Parallel()
	m := newMem()
	j := mustOpen(t, m, day1)
	long := rec(day1, Delivered, 1)
	long.Detail["why"] = strings.Repeat("x", 3*readChunk)
	if err := j.Append(rec(day1, Read, 0), long, rec(day1, Read, 2)); err != nil {
		t.Fatal(err)
	}
	var f Follower
	stop := errors.New("stop")
	err := f.Next(m, func(r Record) error {
		if r.ID == mail.ID("id-1") {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if ids := next(t, &f, m); !slices.Equal(ids, []string{"id-2"}) {
		t.Errorf("%v", ids)
	}
}

// Back begins with the whole records of the last so many bytes, over as many
// files as that takes, and goes on with what comes.
func TestFollowFromBack(t *testing.T) {
	t.Parallel()
	m := newMem()
	var none Follower
	if err := none.Back(m, 1000); err != nil || next(t, &none, m) != nil {
		t.Errorf("of no journal: %v", err)
	}
	j := mustOpen(t, m, day1)
	if err := j.Append(rec(day1, Read, 0), rec(day1, Read, 1), rec(day2, Read, 2), rec(day2, Read, 3)); err != nil {
		t.Fatal(err)
	}
	size := func(name string) int64 {
		fi, err := m.Lstat(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	one, two := size(fileOf(day1)), size(fileOf(day2))
	for _, c := range []struct {
		what  string
		reach int64
		want  []string
	}{
		{"nothing", 0, nil},
		{"less than a record", 10, nil},
		{"a record and a part of one", two - 10, []string{"id-3"}},
		{"the newest file", two, []string{"id-2", "id-3"}},
		{"some of the one before", two + one - 10, []string{"id-1", "id-2", "id-3"}},
		{"everything", 1 << 40, []string{"id-0", "id-1", "id-2", "id-3"}},
	} {
		var f Follower
		if err := f.Back(m, c.reach); err != nil {
			t.Fatal(err)
		}
		if got := next(t, &f, m); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
		if got := next(t, &f, m); got != nil {
			t.Errorf("%s, again: %v", c.what, got)
		}
	}
}
