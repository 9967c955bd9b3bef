package search

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
)

// TestRebuilt: whatever is wrong with the file, the search says so and finds
// everything.
func TestRebuilt(t *testing.T) {
	t.Parallel()
	run := func(stmt string) func(string) error {
		return func(path string) error {
			db, err := sql.Open("sqlite", "file:"+path)
			if err == nil {
				_, err = db.Exec(stmt)
				db.Close()
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		spoil func(path string) error
		says  string
	}{
		"no database":   {func(p string) error { return os.WriteFile(p, []byte("not a database, but some text"), 0o600) }, "it was damaged"},
		"empty":         {func(p string) error { return os.Truncate(p, 0) }, "no search index"},
		"cut off":       {func(p string) error { return os.Truncate(p, 8192) }, "it was damaged"},
		"zeros":         {func(p string) error { return zeros(p, 4096) }, "it was damaged"},
		"foreign":       {run(`PRAGMA application_id = 7`), "no search index"},
		"older":         {run(`PRAGMA user_version = 0`), "it has format 0, and this program's is 2"},
		"newer":         {run(`PRAGMA user_version = 99`), "it has format 99"},
		"other office":  {run(`UPDATE meta SET office = 'o-other'`), "another office's"},
		"no table":      {run(`DROP TABLE message`), "it was damaged"},
		"no meta":       {run(`DELETE FROM meta`), "it was damaged"},
		"other journal": {run(`UPDATE meta SET hash = 'x'`), "the journal is not the one it was made from"},
		"readable":      {func(p string) error { return os.Chmod(p, 0o644) }, "not ours alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFilled(t, "ann", "bob")
			f.many(100)
			x := f.open()
			f.check(x.Close())
			f.check(c.spoil(x.Path()))
			again := f.open()
			if !strings.Contains(again.Rebuilt(), c.says) {
				t.Errorf("it says %q", again.Rebuilt())
			}
			f.whole(again)
			if _, err := os.Lstat(x.Path()); err == nil {
				t.Error("the old file is still there")
			}
			f.check(again.Close())
			if third := f.open(); third.Rebuilt() != "" {
				t.Errorf("built anew once more: %s", third.Rebuilt())
			}
		})
	}
}

func zeros(path string, from int64) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(make([]byte, 64<<10), from)
	return err
}

// TestCorruptUnderFind: what only a search comes across is built anew, too.
func TestCorruptUnderFind(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(800 / fewer)
	x := f.open()
	f.check(x.Close())
	fi, err := os.Stat(x.Path())
	f.check(err)
	file, err := os.OpenFile(x.Path(), os.O_RDWR, 0)
	f.check(err)
	for off := int64(64 << 10); off < fi.Size(); off += 4096 { // all but the first pages
		_, err = file.WriteAt(make([]byte, 4096), off)
		f.check(err)
	}
	f.check(file.Close())
	x = f.open()
	f.whole(x)
	if x.Rebuilt() == "" {
		t.Error("nothing was said")
	}
}

// TestWordsCorrupt: the damage is where only a search for words looks.
func TestWordsCorrupt(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(300)
	x := f.open()
	_, err := x.db.Exec(`UPDATE text_data SET block = zeroblob(length(block)) WHERE id > 10`)
	f.check(err)
	if r, err := x.Verify(context.Background()); err != nil || r.Wrong == 0 {
		t.Errorf("verify: %+v %v", r, err)
	}
	if got := f.find(x, "common"); len(got) != 300 || x.Rebuilt() != "it was damaged" {
		t.Errorf("%d found, it says %q", len(got), x.Rebuilt())
	}
	f.whole(x)
}

// TestVerifyFinds: an index that SQLite has nothing against and that is wrong.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stmt, says string }{
		"row missing":      {`DELETE FROM message WHERE row = 5`, "is not in the index"},
		"digest":           {`UPDATE message SET digest = 'x' WHERE row = 5`, "is not what was indexed"},
		"one row too many": {`INSERT INTO message VALUES (999, 'x', 'x', 0, 1)`, "that the office has not"},
		"words missing":    {`INSERT INTO text (text) VALUES ('delete-all')`, "not found by its own words"},
		"delivery missing": {`DELETE FROM delivery WHERE row = 5`, "went to others"},
		"delivery made up": {`INSERT INTO delivery VALUES (5, 99, 0); INSERT INTO agent (n, aid) VALUES (99, 'a-eve')`, "went to others"},
		"thread too long":  {`UPDATE thread SET messages = 2 WHERE n = 5`, "does not have the messages"},
		"thread not new":   {`UPDATE thread SET last = 1 WHERE n = 5`, "does not have the messages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFilled(t, "ann", "bob")
			f.many(20)
			x := f.open()
			f.Clock.Advance(2 * fresh)
			f.whole(x)
			_, err := x.db.Exec(c.stmt)
			f.check(err)
			r, err := x.Verify(context.Background())
			if err != nil || r.Wrong == 0 || !strings.Contains(strings.Join(r.Faults, "\n"), c.says) {
				t.Fatalf("%+v %v", r, err)
			}
			f.check(x.Rebuild(context.Background()))
			_, err = x.Update(context.Background())
			f.check(err)
			f.whole(x)
		})
	}
}

// TestJournalCutBack: after a crash the journal may be shorter than it was, and
// then go on in another way.
func TestJournalCutBack(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(30)
	names, err := f.Office().FS.ReadNames(journal.Dir)
	f.check(err)
	path := filepath.Join(f.Dir, journal.Dir, names[0])
	short, err := os.ReadFile(path)
	f.check(err)
	f.many(10)
	f.open().Close()
	f.check(os.WriteFile(path, short, 0o600))
	lost := f.sent[30:]
	f.sent = f.sent[:30]
	for _, m := range lost {
		f.check(os.Remove(filepath.Join(f.Dir, "messages", m.ID.Month(), string(m.ID)+".json")))
	}
	f.many(5)
	x := f.open()
	if !strings.Contains(x.Rebuilt(), "the journal is not the one") {
		t.Errorf("it says %q", x.Rebuilt())
	}
	f.whole(x)
}

// TestTornAndDamagedJournal: a line that is being written waits, one that can't be
// read is told of.
func TestTornAndDamagedJournal(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(30)
	names, err := f.Office().FS.ReadNames(journal.Dir)
	f.check(err)
	path := filepath.Join(f.Dir, journal.Dir, names[0])
	all, err := os.ReadFile(path)
	f.check(err)
	f.check(os.WriteFile(path, all[:len(all)-20], 0o600))
	f.sent = f.sent[:29]
	x := f.open()
	if got := f.find(x, "common"); len(got) != 29 {
		t.Error(len(got))
	}
	f.check(os.WriteFile(path, all, 0o600))
	_, err = x.Update(context.Background())
	f.check(err)
	if got := f.find(x, "common"); len(got) != 30 {
		t.Error(len(got))
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	f.check(err)
	file.WriteString("{broken}\n" + strings.SplitAfter(string(all), "\n")[0])
	f.check(file.Close())
	if taken, err := x.Update(context.Background()); err != nil || !taken.Damaged {
		t.Errorf("%+v %v", taken, err)
	}
}

// TestAtOnce: several searches index one office that grows, and all find all.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(600 / fewer)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 3 {
				x, err := openIndex(f.Dir, f.index, f.Sys)
				if err == nil {
					_, err = x.Update(context.Background())
				}
				var found Found
				if err == nil {
					found, err = x.Find(context.Background(), Request{Limit: 1000})
				}
				if err == nil && i == 3 {
					err = x.Rebuild(context.Background()) // while the others search
				}
				if err != nil || len(found.Hits) < 600/fewer || len(found.Doubtful) > 0 {
					t.Errorf("%d hits, %v", len(found.Hits), err)
					return
				}
				x.Close()
			}
		})
	}
	for range 20 {
		f.many(10)
	}
	wg.Wait()
	f.whole(f.open())
}

// TestKilled: a process that is killed while it indexes leaves an index that goes
// on where it was.
func TestKilled(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(1500 / fewer)
	self, err := os.Executable()
	f.check(err)
	whole := 0
	for i := range 8 {
		cmd := exec.Command(self)
		cmd.Env = []string{"TEST_SEARCH_OFFICE=" + f.Dir, "TEST_SEARCH_INDEX=" + f.index}
		out, err := cmd.StdoutPipe()
		f.check(err)
		f.check(cmd.Start())
		fmt.Fscanln(out, new(string)) // it indexes now
		time.Sleep(time.Duration(i*i) * 3 * time.Millisecond)
		f.check(cmd.Process.Kill())
		cmd.Wait()
		x, err := openIndex(f.Dir, f.index, f.Sys)
		f.check(err)
		if n, err := x.Count(context.Background()); err != nil {
			t.Fatal(err)
		} else if n == len(f.sent) {
			whole++
		}
		if i%4 == 3 {
			_, err = x.Update(context.Background())
			f.check(err)
			f.whole(x)
		}
		if x.Rebuilt() != "" {
			t.Errorf("after a kill: %s", x.Rebuilt())
		}
		x.Close()
	}
	t.Logf("%d of 8 kills found the index whole", whole)
	f.whole(f.open())
}

// TestNothingNewIsCheap: what is asked at each search looks at no table as a whole.
func TestNothingNewIsCheap(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(10)
	x := f.open()
	for _, query := range []string{newestRows, markedRows, unreadRows} {
		rows, err := x.db.Query("EXPLAIN QUERY PLAN "+query, bounced)
		f.check(err)
		var plan []string
		for rows.Next() {
			var id, parent, none int
			var detail string
			f.check(rows.Scan(&id, &parent, &none, &detail))
			plan = append(plan, detail)
		}
		f.check(rows.Close())
		if n := strings.Count(query, "SELECT m"); strings.Count(strings.Join(plan, "\n"), "SEARCH") != n {
			t.Errorf("%s:\n%s", query, strings.Join(plan, "\n"))
		}
	}
}

// TestPrivate: the index is this user's alone, and a copy of the office has its own.
func TestPrivate(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.many(3)
	x := f.open()
	entries, err := os.ReadDir(f.index)
	f.check(err)
	for _, e := range entries {
		if fi, err := e.Info(); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), fi.Mode(), err)
		}
	}
	f.check(x.Close())
	copied := filepath.Join(f.Root, "copy")
	f.check(os.CopyFS(copied, os.DirFS(f.Dir)))
	o, err := openIndex(copied, filepath.Join(f.Root, "other"), f.Sys)
	f.check(err)
	defer o.Close()
	if a, b := Dir("/s", f.Office()), Dir("/s", o.Office); a == b || filepath.Dir(a) != filepath.Join("/s", "search") {
		t.Errorf("%s %s", a, b)
	}
}

// TestLeavesTheOfficeAlone: nothing in the office is written to.
func TestLeavesTheOfficeAlone(t *testing.T) {
	t.Parallel()
	f := newFilled(t, "ann", "bob")
	f.RealDesk.Mail("ann", "bob", mail.Request, "x", "common")
	before := tree(t, f.Dir)
	x := f.open()
	f.find(x, "state:unread")
	_, err := x.Verify(context.Background())
	f.check(err)
	if after := tree(t, f.Dir); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func tree(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		fmt.Fprintln(&b, p, fi.Size(), fi.ModTime().UnixNano())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
