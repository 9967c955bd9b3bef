package journal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

var (
	day1 = time.Date(2026, 5, 30, 14, 3, 11, 123e6, time.UTC)
	day2 = day1.AddDate(0, 0, 1)
)

const (
	file1 = "2026-05-30.jsonl"
	file2 = "2026-05-31.jsonl"
)

func newMem() *vfs.Mem { return vfs.NewMem(func() time.Time { return day1 }) }

func mustOpen(t *testing.T, m vfs.FS, now time.Time) *Journal {
	t.Helper()
	j, err := Open(m, now)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func rec(at time.Time, event string, id int) Record {
	return Record{At: at, Event: event, ID: mail.ID(fmt.Sprintf("id-%d", id)), Agent: "coder", Detail: map[string]string{"why": `<"x" & ` + "\n>"}}
}

// write appends one settled batch per element of events.
func write(t *testing.T, j *Journal, rs ...Record) {
	t.Helper()
	for _, r := range rs {
		if err := j.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, m vfs.FS, name string) string {
	t.Helper()
	f, err := m.OpenFile(path(name), os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fi, _ := f.Stat()
	b := make([]byte, fi.Size())
	f.ReadAt(b, 0)
	return string(b)
}

func put(t *testing.T, m vfs.FS, name, content string) {
	t.Helper()
	f, err := m.OpenFile(path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
}

func events(t *testing.T, m vfs.FS) []string {
	t.Helper()
	var all []string
	if err := Each(m, time.Time{}, time.Time{}, func(r Record) error {
		all = append(all, r.Event)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func sound(t *testing.T, m vfs.FS, kept ...Head) Report {
	t.Helper()
	r, err := Verify(m, kept...)
	if err != nil || r.Break != nil {
		t.Fatalf("the chain is broken: %+v %v", r.Break, err)
	}
	return r
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	m := newMem()
	j := mustOpen(t, m, day1)
	if n, h := j.Head(); n != 0 || h != "" {
		t.Errorf("empty head %d %q", n, h)
	}
	if err := errors.Join(j.Append(rec(day1, Adopted, 1), rec(day1, Delivered, 1)), j.Append(rec(day1, Settled, 0)), j.Append(), j.Sync()); err != nil {
		t.Fatal(err)
	}
	want := `{"n":1,"at":"2026-05-30T14:03:11.123Z","event":"adopted","id":"id-1","agent":"coder","detail":{"why":"<\"x\" & \n>"},"prev":""}`
	if got, _, _ := strings.Cut(read(t, m, file1), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	n, h := j.Head()
	j.Close()
	j = mustOpen(t, m, day2)
	if n2, h2 := j.Head(); n2 != n || h2 != h || n != 3 {
		t.Errorf("head %d %s, opened anew %d %s", n, h, n2, h2)
	}
	write(t, j, rec(day2, Read, 1), rec(day1, Done, 1)) // the clock is set back
	if got := strings.Count(read(t, m, file2), "\n"); got != 2 {
		t.Errorf("%d records in the newest file, want 2", got)
	}
	r := sound(t, m, Head{n, h})
	if r.Records != 5 || r.Files != 2 || !r.First.Equal(day1) || r.Torn != 0 {
		t.Errorf("report %+v", r)
	}
	var got []string
	collect := func(r Record) error { got = append(got, r.Event); return nil }
	if err := Each(m, day2, time.Time{}, collect); err != nil || !slices.Equal(got, []string{Read}) {
		t.Errorf("from day 2: %v %v", got, err)
	}
	got = nil
	if err := Each(m, time.Time{}, day2, collect); err != nil || !slices.Equal(got, []string{Adopted, Delivered, Settled, Done}) {
		t.Errorf("before day 2: %v %v", got, err)
	}
	got = nil
	if err := EachMatching(m, time.Time{}, []byte(`"id":"id-1"`), collect); err != nil || len(got) != 4 {
		t.Errorf("matching: %v %v", got, err)
	}
	stop := errors.New("stop")
	if err := Each(m, time.Time{}, time.Time{}, func(Record) error { return stop }); err != stop {
		t.Errorf("stopping: %v", err)
	}
}

func TestUnsettled(t *testing.T) {
	t.Parallel()
	m := newMem()
	j := mustOpen(t, m, day1)
	check := func(want ...string) {
		t.Helper()
		rs, err := j.Unsettled()
		var got []string
		for _, r := range rs {
			got = append(got, r.Event)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("unsettled %v %v, want %v", got, err, want)
		}
	}
	check()
	write(t, j, rec(day1, Adopted, 1), rec(day1, Delivered, 1))
	check(Adopted, Delivered)
	write(t, j, rec(day1, Settled, 0))
	check()
	fake := rec(day1, Notified, 2)
	fake.Detail = map[string]string{"event": "settled"}
	write(t, j, rec(day1, Adopted, 2), fake, rec(day2, Delivered, 2))
	check(Adopted, Notified, Delivered)
	for i := range 2000 { // more than is read at first
		write(t, j, rec(day2, Read, i))
	}
	j = mustOpen(t, m, day2)
	if rs, err := j.Unsettled(); err != nil || len(rs) != 2003 || rs[0].Event != Adopted {
		t.Errorf("%d unsettled %v", len(rs), err)
	}
	write(t, j, rec(day2, Settled, 0))
	check()
}

// A tail torn at any byte, also with zeros behind: what was whole stays, the
// rest is kept aside, the chain goes on.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	src := newMem()
	j := mustOpen(t, src, day1)
	write(t, j, rec(day1, Adopted, 1), rec(day1, Settled, 1))
	settled := len(read(t, src, file1))
	if err := errors.Join(j.Append(rec(day1, Delivered, 2), rec(day1, Read, 2)), j.Append(rec(day1, Done, 2))); err != nil {
		t.Fatal(err)
	}
	whole := read(t, src, file1)
	for n := range len(whole) {
		for _, zeros := range []int{0, len(whole) - n} {
			m := newMem()
			if err := m.Mkdir(Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			torn := whole[:n] + strings.Repeat("\x00", zeros)
			put(t, m, file1, torn)
			good := strings.LastIndexByte(whole[:n], '\n') + 1
			tornAt(t, m, torn, good)
			if n >= settled && !strings.HasPrefix(read(t, m, file1), whole[:settled]) {
				t.Fatal("settled records changed")
			}
		}
	}
}

func tornAt(t *testing.T, m *vfs.Mem, torn string, good int) {
	t.Helper()
	j := mustOpen(t, m, day2)
	if got := read(t, m, file1); got != torn[:good] {
		t.Fatalf("%q\nwas cut to %q", torn, got)
	}
	write(t, j, rec(day1, Joined, 9))
	r := sound(t, m)
	all := events(t, m)
	if r.Torn != 0 || uint64(len(all)) != r.Records || all[len(all)-1] != Joined {
		t.Fatalf("cut to %d: %v %+v", good, all, r)
	}
	kept, err := m.Lstat(path(tornPrefix + "2026-05-30-1"))
	if (err == nil) != (good < len(torn)) {
		t.Fatalf("kept aside: %v", err)
	}
	if err == nil && (kept.Size() != int64(len(torn)-good) || all[len(all)-2] != Recovered) {
		t.Fatalf("kept %d bytes of %d; %v", kept.Size(), len(torn)-good, all)
	}
}

// A hole in the middle of what was not synced: two writes, the first one lost.
func TestHole(t *testing.T) {
	t.Parallel()
	m := newMem()
	j := mustOpen(t, m, day1)
	write(t, j, rec(day1, Settled, 1))
	before := len(read(t, m, file1))
	write(t, j, rec(day1, Read, 2), rec(day1, Done, 2))
	all := read(t, m, file1)
	mid := strings.LastIndexByte(all[:len(all)-1], '\n') + 1
	put(t, m, file1, all[:before]+strings.Repeat("\x00", mid-before)+all[mid:])
	j = mustOpen(t, m, day2)
	write(t, j, rec(day1, Joined, 1))
	sound(t, m)
	if got := events(t, m); !slices.Equal(got, []string{Settled, Recovered, Joined}) {
		t.Errorf("got %v", got)
	}
}

func TestVerifyFindsTheBreak(t *testing.T) {
	t.Parallel()
	build := func(t *testing.T) (*vfs.Mem, []string) {
		m := newMem()
		j := mustOpen(t, m, day1)
		for i := range 5 {
			write(t, j, rec(day1, Delivered, i))
		}
		for i := range 3 {
			write(t, j, rec(day2, Read, i))
		}
		return m, strings.SplitAfter(read(t, m, file1), "\n")
	}
	for name, test := range map[string]struct {
		edit func([]string) []string
		flaw Flaw
		file string
		line int
	}{
		"changed":         {func(l []string) []string { l[2] = strings.Replace(l[2], "coder", "c0der", 1); return l }, Changed, file1, 3},
		"last changed":    {func(l []string) []string { l[4] = strings.Replace(l[4], "coder", "c0der", 1); return l }, Changed, file1, 5},
		"missing":         {func(l []string) []string { return slices.Delete(l, 2, 3) }, Missing, file1, 3},
		"first missing":   {func(l []string) []string { return l[1:] }, Missing, file1, 1},
		"last missing":    {func(l []string) []string { return l[:4] }, Missing, file2, 1},
		"swapped":         {func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }, Reordered, file1, 2},
		"moved to end":    {func(l []string) []string { return append(slices.Delete(slices.Clone(l[:5]), 1, 2), l[1]) }, Reordered, file1, 2},
		"twice":           {func(l []string) []string { return slices.Insert(l, 2, l[1]) }, Reordered, file1, 3},
		"unreadable":      {func(l []string) []string { l[2] = "x\n"; return l }, Unreadable, file1, 3},
		"no line feed":    {func(l []string) []string { l[4] = strings.TrimSuffix(l[4], "\n"); return l }, Unreadable, file1, 5},
		"number changed":  {func(l []string) []string { l[2] = strings.Replace(l[2], `"n":3`, `"n":9`, 1); return l }, Missing, file1, 3},
		"everything gone": {func([]string) []string { return nil }, Missing, file2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, lines := build(t)
			put(t, m, file1, strings.Join(test.edit(lines), ""))
			r, err := Verify(m)
			if err != nil || r.Break == nil || r.Break.Flaw != test.flaw || r.Break.File != test.file || r.Break.Line != test.line {
				t.Errorf("got %+v %v", r.Break, err)
			}
		})
	}
	m, _ := build(t)
	good := sound(t, m)
	for name, kept := range map[string]Head{"changed": {3, "0"}, "missing": {99, "0"}} {
		r, err := Verify(m, good.Head, kept)
		if err != nil || r.Break == nil || string(r.Break.Flaw) != name {
			t.Errorf("kept head %s: %+v", name, r.Break)
		}
	}
	put(t, m, file2, read(t, m, file2)+`{"n":9`)
	if r := sound(t, m); r.Torn != 6 {
		t.Errorf("torn %d", r.Torn)
	}
	if r, err := Verify(newMem()); err != nil || r.Records != 0 {
		t.Errorf("no journal: %+v %v", r, err)
	}
}

func TestUnreadableLineIsReportedAfterTheRest(t *testing.T) {
	t.Parallel()
	m := newMem()
	j := mustOpen(t, m, day1)
	write(t, j, rec(day1, Adopted, 1), rec(day1, Delivered, 1), rec(day1, Read, 1))
	lines := strings.SplitAfter(read(t, m, file1), "\n")
	put(t, m, file1, lines[0]+"{broken\n"+lines[2])
	n := 0
	err := Each(m, time.Time{}, time.Time{}, func(Record) error { n++; return nil })
	if n != 2 || mail.KindOf(err) != mail.KindCorrupt || !strings.Contains(err.Error(), file1+" line 2") {
		t.Errorf("%d records, %v", n, err)
	}
}

// The n-th call fails: Append says so, and what it wrote later is sound.
func TestFaults(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		m := newMem()
		write(t, mustOpen(t, m, day1), rec(day1, Settled, 0))
		f := &vfs.Fault{}
		f.FailAt(n, errors.New("no space left on device"))
		fsys := f.Wrap(m)
		j, err := Open(fsys, day1)
		var done []string
		if err == nil {
			for i, r := range []Record{rec(day1, Read, 1), rec(day1, Done, 1), rec(day2, Joined, 1), rec(day2, Settled, 0), rec(day2, Archived, 1)} {
				if j.Append(r) == nil {
					done = append(done, r.Event)
				}
				if i == 1 {
					j.Sync()
				}
			}
		}
		if len(f.Calls()) < n {
			return
		}
		sound(t, m)
		if got := events(t, m)[1:]; !slices.Equal(got, done) {
			t.Fatalf("call %d failed: %v\nholds %v, appended %v", n, f.Calls()[n-1], got, done)
		}
	}
}

func TestShortWriteIsCutOff(t *testing.T) {
	t.Parallel()
	m := newMem()
	write(t, mustOpen(t, m, day1), rec(day1, Settled, 0))
	fsys := &shortFS{FS: m, left: 1}
	j := mustOpen(t, fsys, day1)
	if err := j.Append(rec(day1, Read, 1), rec(day1, Done, 1)); mail.KindOf(err) != mail.KindStore {
		t.Fatalf("got %v", err)
	}
	write(t, j, rec(day1, Joined, 2))
	sound(t, m)
	if got := events(t, m); !slices.Equal(got, []string{Settled, Joined}) {
		t.Errorf("got %v", got)
	}
}

// shortFS writes half and reports a full disk, and once cannot truncate.
type shortFS struct {
	vfs.FS
	left int
}

func (s *shortFS) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	return &shortFile{f, s, 1}, err
}

type shortFile struct {
	vfs.File
	fs    *shortFS
	stuck int
}

func (f *shortFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fs.left--; f.fs.left >= 0 {
		n, _ := f.File.WriteAt(p[:len(p)/2], off)
		return n, errors.New("no space left on device")
	}
	return f.File.WriteAt(p, off)
}

func (f *shortFile) Truncate(size int64) error {
	if f.stuck--; f.stuck >= 0 {
		return errors.New("input/output error")
	}
	return f.File.Truncate(size)
}

// Every crash during two batches over a change of date, and every state it
// can leave: what was synced is there, the chain holds, and it goes on.
func TestCrash(t *testing.T) {
	t.Parallel()
	for n := 1; crashAt(t, n); n++ {
	}
}

func crashAt(t *testing.T, n int) (crashed bool) {
	t.Helper()
	m := newMem()
	write(t, mustOpen(t, m, day1), rec(day1, Settled, 0))
	m.SyncAll()
	synced := 1
	f := &vfs.Fault{}
	f.CrashAfter(n)
	crashed = vfs.Crashed(func() {
		j, err := Open(f.Wrap(m), day1)
		steps := []func() error{
			func() error { return j.Append(rec(day1, Adopted, 1), rec(day1, Delivered, 1)) },
			func() error { return j.Append(rec(day1, Read, 1)) },
			func() error { return j.Append(rec(day2, Done, 1)) },
			func() error { return j.Sync() },
			func() error { synced = 5; return j.Append(rec(day2, Settled, 0), rec(day2, Adopted, 2)) },
			func() error { return j.Sync() },
			func() error { synced = 7; return nil },
		}
		for _, step := range steps {
			if err == nil {
				err = step()
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	for s := range m.CrashStates(5000) {
		j, err := Open(s, day2)
		if err != nil {
			t.Fatalf("crash after %v: %v", f.Calls(), err)
		}
		if _, err := j.Unsettled(); err != nil {
			t.Fatal(err)
		}
		write(t, j, rec(day1, Joined, 1))
		if r := sound(t, s); int(r.Records) < synced+1 || r.Torn != 0 {
			t.Fatalf("crash after %v: %d records, %d were synced", f.Calls(), r.Records, synced)
		}
		crashAgain(t, s)
	}
	return crashed
}

// crashAgain: a second crash before anything of the recovery was synced.
func crashAgain(t *testing.T, m *vfs.Mem) {
	t.Helper()
	for s := range m.CrashStates(5000) {
		write(t, mustOpen(t, s, day2), rec(day1, Archived, 1))
		sound(t, s)
	}
}

func TestDurable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 30, 23, 59, 59, 0, time.UTC)
	mem := vfs.NewMem(func() time.Time { return now })
	durable := func() Head {
		t.Helper()
		h, err := Durable(mem)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := durable(); h != (Head{}) {
		t.Fatalf("without a journal: %+v", h)
	}
	j, err := Open(mem, now)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	add := func(at time.Time, event string) Head {
		t.Helper()
		if err := j.Append(Record{At: at, Event: event}); err != nil {
			t.Fatal(err)
		}
		n, hash := j.Head()
		return Head{n, hash}
	}
	first := add(now, Joined)
	if h := durable(); h != (Head{}) {
		t.Fatalf("nothing is settled: %+v", h)
	}
	add(now, Settled)
	add(now, Joined)
	add(now.Add(time.Hour), Joined) // a file of its own, without a settled record
	if h := durable(); h != first {
		t.Fatalf("got %+v, want the record before the settled one, %+v", h, first)
	}
}
