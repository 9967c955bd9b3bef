package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// desk is a directory that looks like an office, with the audit of it.
type desk struct {
	*Audit
	t *testing.T
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my office")
	for _, d := range []string{"journal", "messages/2026-05", "approvals/.done", "transcripts", "agents/coder/inbox"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := vfs.OpenReal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fsys.Close() })
	d := &desk{t: t, Audit: &Audit{FS: fsys, Dir: dir, OfficeID: "o-test", Version: "post test", Now: time.Now,
		Path: realGitDir(t), Stall: 20 * time.Second, Patience: 10 * time.Second}}
	d.write("postroom.toml", "format = 1\n")
	d.write("registry.json", "{}\n")
	d.write("agents/coder/inbox/x.json", "not audited")
	d.journal(journal.Delivered, journal.Settled)
	return d
}

// realGitDir is where the machine's git is.
func realGitDir(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("these tests need git: ", err)
	}
	return filepath.Dir(path) + ":/usr/bin:/bin"
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) journal(events ...string) {
	d.t.Helper()
	now := time.Now()
	j, err := journal.Open(d.FS, now)
	if err != nil {
		d.t.Fatal(err)
	}
	defer j.Close()
	for _, e := range events {
		if err := j.Append(journal.Record{At: now, Event: e}); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *desk) commit(opt Options) (Commit, bool) {
	d.t.Helper()
	c, made, err := d.Commit(context.Background(), opt)
	if err != nil {
		d.t.Fatal(err)
	}
	return c, made
}

// show runs the real git on the repository.
func (d *desk) show(args ...string) string {
	d.t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir=" + d.gitDir()}, args...)...)
	cmd.Env = []string{"PATH=" + d.Path, "HOME=" + d.t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (d *desk) committed() []string {
	return strings.Fields(d.show("ls-tree", "-r", "--name-only", Branch))
}

func (d *desk) want(names ...string) {
	d.t.Helper()
	got := slices.DeleteFunc(d.committed(), func(n string) bool { return strings.HasPrefix(n, "journal/") })
	slices.Sort(names)
	if !slices.Equal(got, names) {
		d.t.Fatalf("committed\n %v\nwant\n %v", got, names)
	}
}

// tree is every name, size and time in the office but the audit's own.
func (d *desk) tree() string {
	var b strings.Builder
	filepath.Walk(d.Dir, func(path string, fi os.FileInfo, err error) error {
		if err != nil {
			d.t.Fatal(err)
		}
		if strings.HasPrefix(fi.Name(), "audit.") || path == d.Dir {
			if fi.IsDir() && path != d.Dir {
				return filepath.SkipDir
			}
			return nil
		}
		fmt.Fprintln(&b, path, fi.Mode(), fi.Size(), fi.ModTime())
		return nil
	})
	return b.String()
}

func TestCommit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write("messages/2026-05/a.json", "a")
	d.write("messages/2026-05/.tmp-b.json", "half")
	d.write("transcripts/_inbox_coder.md", "# one\n")
	d.write("approvals/q.json", "?")
	d.write("secret.txt", "nothing of the audit's")
	before := d.tree()
	c, made := d.commit(Options{})
	if !made || c.Changed != 6 || c.Removed != 0 {
		t.Fatalf("%+v", c)
	}
	d.want("approvals/q.json", "messages/2026-05/a.json", "postroom.toml", "registry.json", "transcripts/_inbox_coder.md")
	if after := d.tree(); after != before {
		t.Fatalf("the office was changed:\n%s\n%s", before, after)
	}
	text := d.show("log", "-1", "--format=%an <%ae>%n%B")
	if !strings.Contains(text, "postroom <postroom@o-test>") || !strings.Contains(text, fmt.Sprintf("Journal-Head: %d %s\n", c.Head.N, c.Head.Hash)) {
		t.Fatal(text)
	}
	if _, made := d.commit(Options{}); made {
		t.Fatal("nothing changed, and yet there is a commit")
	}
	d.write("messages/2026-05/b.json", "b")
	d.write("messages/2026-06/c.json", "c")
	d.write("transcripts/_inbox_coder.md", "# one\n# two\n")
	if err := os.Rename(filepath.Join(d.Dir, "approvals/q.json"), filepath.Join(d.Dir, "approvals/.done/q.json")); err != nil {
		t.Fatal(err)
	}
	if c, _ := d.commit(Options{}); c.Changed != 4 || c.Removed != 1 {
		t.Fatalf("%+v", c)
	}
	d.want("approvals/.done/q.json", "messages/2026-05/a.json", "messages/2026-05/b.json", "messages/2026-06/c.json",
		"postroom.toml", "registry.json", "transcripts/_inbox_coder.md")
	d.show("fsck", "--strict")
}

// TestProves: the journal in a commit holds the head that the commit names, and
// a journal that was rewritten does not verify against it.
func TestProves(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c, _ := d.commit(Options{})
	if c.Head.N == 0 {
		t.Fatal("no head")
	}
	if rep, err := journal.Verify(d.FS, c.Head); err != nil || rep.Break != nil {
		t.Fatalf("%+v %v", rep, err)
	}
	restored := t.TempDir()
	for _, name := range d.committed() {
		path := filepath.Join(restored, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(d.show("show", Branch+":"+name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := vfs.OpenReal(restored)
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	if rep, err := journal.Verify(fsys, c.Head); err != nil || rep.Break != nil {
		t.Fatalf("the committed journal: %+v %v", rep, err)
	}
	files, _ := filepath.Glob(filepath.Join(d.Dir, "journal", "*.jsonl"))
	for _, f := range files {
		os.Remove(f)
	}
	d.journal(journal.Read, journal.Done, journal.Settled) // all of it rewritten, chained well
	if rep, err := journal.Verify(d.FS, c.Head); err != nil || rep.Break == nil {
		t.Fatalf("a rewritten journal verifies: %+v %v", rep, err)
	}
}

// TestHeadNamed: when the content was committed before its records were settled,
// the next commit names the head although no file changed.
func TestHeadNamed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c, _ := d.commit(Options{})
	s := d.load()
	s.Last.Head = journal.Head{}
	if err := d.save(s); err != nil {
		t.Fatal(err)
	}
	again, made := d.commit(Options{})
	if !made || again.Changed != 0 || again.Head != c.Head || !strings.Contains(d.show("log", "-1", "--format=%B"), c.Head.Hash) {
		t.Fatalf("%v %+v", made, again)
	}
	if s, err := d.Status(); err != nil || s.Behind != 0 {
		t.Fatalf("%+v %v", s, err)
	}
	if _, made := d.commit(Options{}); made {
		t.Fatal("once is enough")
	}
}

func TestRemovedAndTampered(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write("messages/2026-05/a.json", "a")
	d.write("messages/2026-05/b.json", "b")
	d.write("messages/2026-04/z.json", "z")
	d.commit(Options{})
	os.Remove(filepath.Join(d.Dir, "messages/2026-05/a.json"))
	os.RemoveAll(filepath.Join(d.Dir, "messages/2026-04"))
	if c, _ := d.commit(Options{}); c.Removed != 2 {
		t.Fatalf("%+v", c)
	}
	old := time.Now().Add(-time.Hour)
	path := filepath.Join(d.Dir, "messages/2026-05/b.json")
	d.write("messages/2026-05/b.json", "B")
	os.Chtimes(path, old, old)
	os.Chtimes(filepath.Dir(path), old, old)
	if c, made := d.commit(Options{Full: true}); !made || c.Changed != 1 {
		t.Fatalf("%+v", c)
	}
	if got := d.show("show", Branch+":messages/2026-05/b.json"); got != "B" {
		t.Fatal(got)
	}
}

// TestUnfriendlyWorld: configuration, hooks, signing, attributes and the
// environment of the user cannot spoil a commit.
func TestUnfriendlyWorld(t *testing.T) {
	home := t.TempDir()
	fail := filepath.Join(home, "fail")
	if err := os.WriteFile(fail, []byte("#!/bin/sh\ntouch '"+home+"/ran'\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	hooks := filepath.Join(home, "hooks")
	os.Mkdir(hooks, 0o755)
	names := []string{"pre-commit", "commit-msg", "reference-transaction", "post-commit", "pre-auto-gc", "post-index-change"}
	for _, h := range names {
		os.Symlink(fail, filepath.Join(hooks, h))
	}
	config := "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = " + fail + "\n[core]\n\thooksPath = " + hooks +
		"\n\tautocrlf = true\n\tattributesFile = " + home + "/attributes\n\tfsmonitor = " + fail +
		"\n[filter \"evil\"]\n\tclean = " + fail + "\n\trequired = true\n[user]\n\tuseConfigOnly = true\n[alias]\n\tfast-import = !" + fail + "\n"
	os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600)
	os.WriteFile(filepath.Join(home, "attributes"), []byte("* filter=evil text eol=crlf\n"), 0o600)
	for k, v := range map[string]string{"HOME": home, "GIT_INDEX_FILE": "/nowhere/index", "GIT_OBJECT_DIRECTORY": "/nowhere", "GIT_DIR": "/nowhere",
		"GIT_WORK_TREE": "/nowhere", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "banana", "GIT_EXTERNAL_DIFF": fail} {
		t.Setenv(k, v)
	}
	d := newDesk(t)
	d.write("messages/2026-05/a.json", "one\ntwo\r\n")
	d.write("messages/2026-05/.gitattributes", "* filter=evil\n")
	d.write(".gitignore", "*\n")
	d.commit(Options{})
	os.MkdirAll(filepath.Join(d.gitDir(), "hooks"), 0o700)
	for _, h := range names {
		os.Symlink(fail, filepath.Join(d.gitDir(), "hooks", h))
	}
	d.write("messages/2026-05/b.json", "b")
	d.commit(Options{})
	d.want("messages/2026-05/a.json", "messages/2026-05/b.json", "postroom.toml", "registry.json")
	if got := d.show("show", Branch+":messages/2026-05/a.json"); got != "one\ntwo\r\n" {
		t.Fatalf("content was changed: %q", got)
	}
	if _, err := os.Lstat(filepath.Join(home, "ran")); err == nil {
		t.Fatal("something of the user's configuration ran")
	}
}

// TestNothingOutside: links that lead elsewhere bring nothing in.
func TestNothingOutside(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	out := t.TempDir()
	os.WriteFile(filepath.Join(out, "key.json"), []byte("private"), 0o600)
	for link, to := range map[string]string{
		"messages/2026-05/x.json": filepath.Join(out, "key.json"), "messages/2026-07": out, "transcripts/t.md": filepath.Join(out, "key.json"),
		"approvals/.rejected": out, "journal/2026-01-01.jsonl": filepath.Join(out, "key.json"),
	} {
		if err := os.Symlink(to, filepath.Join(d.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	d.write("transcripts/bad name\nM 100644 inline evil.md", "x")
	os.MkdirAll(filepath.Join(d.Dir, "transcripts", ".git"), 0o700)
	d.write("transcripts/.git/config", "[core]")
	c, _ := d.commit(Options{})
	d.want("postroom.toml", "registry.json")
	if c.Skipped == 0 {
		t.Fatal("what was left out is not said")
	}
	if got := d.show("grep", "-c", "Delivered\\|delivered", Branch, "--", "journal"); strings.Contains(got, "private") {
		t.Fatal(got)
	}
}

func TestMissingGit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	real := d.Path
	d.Path = t.TempDir() + ":relative"
	for range 2 {
		if _, _, err := d.Commit(context.Background(), Options{}); mail.KindOf(err) != mail.KindNotFound {
			t.Fatal(err)
		}
	}
	s, err := d.Status()
	if err != nil || s.Failures != 2 || s.Error == nil || s.Error.Kind != mail.KindNotFound || len(s.Wrong()) == 0 || s.Behind == 0 {
		t.Fatalf("%+v %v", s, err)
	}
	d.Path = real
	d.commit(Options{})
	if s, err := d.Status(); err != nil || s.Failures != 0 || s.Error != nil || len(s.Wrong()) != 0 || s.Behind != 0 {
		t.Fatalf("%+v %v", s, err)
	}
}

// fakeGit puts a script before the real git. In it, $REAL is the real one.
func (d *desk) fakeGit(script string) {
	d.t.Helper()
	bin := d.t.TempDir()
	real, err := exec.LookPath("git")
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nREAL='"+real+"'\n"+script), 0o755); err != nil {
		d.t.Fatal(err)
	}
	d.Path = bin + ":" + d.Path
}

// TestHangingGit: a git that hangs, and its children, are killed; the next one
// does what was left.
func TestHangingGit(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"init", "for-each-ref", "fast-import"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.write("messages/2026-05/big.json", strings.Repeat("x", 1<<20)) // more than a pipe takes
			real := d.Path
			d.Stall = 300 * time.Millisecond
			if verb == "fast-import" {
				d.commit(Options{}) // so that the stall is not in making the repository
				d.write("messages/2026-05/bigger.json", strings.Repeat("y", 1<<20))
			}
			pid := filepath.Join(t.TempDir(), "pid")
			d.fakeGit("case \"$*\" in *" + verb + "*) sleep 600 & echo $! >'" + pid + "'; wait;; *) exec \"$REAL\" \"$@\";; esac\n")
			_, _, err := d.Commit(context.Background(), Options{})
			if mail.KindOf(err) != mail.KindTimeout {
				t.Fatal(err)
			}
			if s, _ := d.Status(); s.Error == nil || s.Error.Kind != mail.KindTimeout {
				t.Fatalf("%+v", s)
			}
			gone(t, pid)
			d.Path, d.Stall = real, 20*time.Second
			d.commit(Options{})
			d.show("fsck", "--strict")
		})
	}
}

// gone waits until the process in the file has ended.
func gone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	proc := "/proc/" + strings.TrimSpace(string(data))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(proc + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Fatal("a child of the killed git is still running")
}

func TestFailingGit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(Options{})
	d.write("messages/2026-05/a.json", "a")
	real := d.Path
	d.fakeGit("case \"$*\" in *fast-import*) echo 'fatal: no space left on device' >&2; exit 128;; *) exec \"$REAL\" \"$@\";; esac\n")
	_, _, err := d.Commit(context.Background(), Options{})
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatal(err)
	}
	d.Path = real
	if c, made := d.commit(Options{}); !made || c.Changed < 1 {
		t.Fatalf("%+v", c)
	}
}

// TestCutStream: a committer that dies half-way leaves no commit.
func TestCutStream(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first, _ := d.commit(Options{})
	g, err := d.git()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{a: d.Audit, g: g, parent: context.Background(), at: time.Now(), tip: first.ID}
	f, err := d.FS.OpenFile("registry.json", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := w.put("registry.json", f, 3); err != nil {
		t.Fatal(err)
	}
	w.out.Flush()
	w.pipe.Close() // as the kernel does for a process that was killed
	w.cmd.Wait()
	w.close()
	if tip, err := g.tip(context.Background()); err != nil || tip != first.ID {
		t.Fatalf("tip %s %v, want %s", tip, err, first.ID)
	}
}

func TestStaleLocks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(Options{})
	locks := []string{"index.lock", "HEAD.lock", "refs/heads/audit.lock"}
	plant := func(age time.Duration) {
		for _, l := range locks {
			path := filepath.Join(d.gitDir(), l)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(-age)
			os.Chtimes(path, at, at)
		}
	}
	plant(time.Minute) // young: it stands in the way, and that is said
	d.write("messages/2026-05/a.json", "a")
	if _, _, err := d.Commit(context.Background(), Options{}); err == nil || !strings.Contains(err.Error(), "audit.lock") {
		t.Fatal(err)
	}
	s, err := d.Status()
	if err != nil || len(s.Locks) != 3 || s.Locks[0].Stale || s.Locks[0].AgeS < 59 || len(s.Wrong()) < 4 {
		t.Fatalf("%+v %v", s, err)
	}
	plant(time.Hour)
	if _, made := d.commit(Options{}); !made {
		t.Fatal("no commit")
	}
	for _, l := range locks {
		if _, err := os.Lstat(filepath.Join(d.gitDir(), l)); err == nil {
			t.Fatal(l, " is still there")
		}
	}
	if s, _ := d.Status(); len(s.Wrong()) != 0 {
		t.Fatalf("%+v", s.Wrong())
	}
}

// TestLockInUse: an old lock that somebody holds is never removed.
func TestLockInUse(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(Options{})
	path := filepath.Join(d.gitDir(), "refs", "heads", "audit.lock")
	old := time.Now().Add(-time.Hour)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	os.Chtimes(path, old, old)
	bin := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	os.Symlink(sleep, filepath.Join(bin, "git")) // a live "git" that has it open, or works on the repository
	for name, cmd := range map[string]*exec.Cmd{
		"open":      {Path: sleep, Args: []string{"sleep", "600"}, ExtraFiles: []*os.File{f}},
		"directory": {Path: filepath.Join(bin, "git"), Args: []string{"git", "600"}, Dir: d.gitDir()},
		"variable":  {Path: filepath.Join(bin, "git"), Args: []string{"git", "600"}, Env: []string{"GIT_DIR=" + d.gitDir()}},
	} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running := func() bool { // it has become what it shall be
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid))
			return exe != "" && !strings.Contains(exe, ".test")
		}
		for end := time.Now().Add(10 * time.Second); !running() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		locks := d.clearLocks()
		if len(locks) != 1 || locks[0].Stale || locks[0].Removed || !strings.Contains(locks[0].Why, "in use") {
			t.Errorf("%s: %+v", name, locks)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	f.Close()
	// A child that another test starts has the file open until it execs.
	locks := d.clearLocks()
	for end := time.Now().Add(10 * time.Second); len(locks) == 1 && !locks[0].Removed && time.Now().Before(end); time.Sleep(time.Millisecond) {
		locks = d.clearLocks()
	}
	if len(locks) != 1 || !locks[0].Removed {
		t.Fatalf("%+v", locks)
	}
}

func TestOlderThanBoot(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.commit(Options{})
	d.StaleAfter = 1000 * time.Hour
	d.Boot = func() (string, time.Duration, bool) { return "b", time.Minute, true }
	path := filepath.Join(d.gitDir(), "HEAD.lock")
	os.WriteFile(path, nil, 0o600)
	at := time.Now().Add(-10 * time.Minute)
	os.Chtimes(path, at, at)
	if locks := d.clearLocks(); len(locks) != 1 || !locks[0].Removed {
		t.Fatalf("%+v", locks)
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Patience = time.Minute
	var wg sync.WaitGroup
	for i := range 6 {
		d.write(fmt.Sprintf("messages/2026-05/m%d.json", i), "x")
		wg.Go(func() {
			if _, _, err := d.Commit(context.Background(), Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d.commit(Options{})
	d.want("messages/2026-05/m0.json", "messages/2026-05/m1.json", "messages/2026-05/m2.json", "messages/2026-05/m3.json",
		"messages/2026-05/m4.json", "messages/2026-05/m5.json", "postroom.toml", "registry.json")
	d.show("fsck", "--strict")
	lock, err := d.lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	d.Patience = 0
	if _, _, err := d.Commit(context.Background(), Options{}); mail.KindOf(err) != mail.KindBusy {
		t.Fatal(err)
	}
	if s, _ := d.Status(); s.Error != nil {
		t.Fatalf("waiting is no trouble: %+v", s.Error)
	}
}

// TestHugeBatch: a backlog goes into packs, not into a file per object, and into
// commits of bounded size.
func TestHugeBatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const n = perCommit + 1000
	dir := filepath.Join(d.Dir, "messages/2026-05")
	for i := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/m%06d.json", dir, i), fmt.Appendf(nil, "message %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, made := d.commit(Options{})
	if !made || c.Changed < n {
		t.Fatalf("%+v", c)
	}
	s, err := d.Status()
	if err != nil || s.Growth == nil || s.Growth.Loose > looseMax {
		t.Fatalf("%+v %v", s.Growth, err)
	}
	if got := len(d.committed()); got != n+3 {
		t.Fatalf("%d files", got)
	}
	if commits := strings.Fields(d.show("rev-list", Branch)); len(commits) != 2 {
		t.Fatalf("%d commits", len(commits))
	}
	d.write("messages/2026-05/m000500x.json", "in between")
	os.Remove(dir + "/m000700.json")
	if c, _ := d.commit(Options{}); c.Changed != 1 || c.Removed != 1 {
		t.Fatalf("%+v", c)
	}
}

// TestGrowth: many commits are packed together, and the journal, which each of
// them holds anew, costs only what was added.
func TestGrowth(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var line strings.Builder
	day := filepath.Join(d.Dir, "journal", "2026-05-30.jsonl")
	for i := range packsMax + 3 {
		for j := range 150 {
			fmt.Fprintf(&line, "{\"n\":%d,\"event\":\"delivered\",\"hash\":%q}\n", i*150+j, fmt.Sprintf("%x", [2]int{i * 7919, j * 104729}))
			d.write(fmt.Sprintf("messages/2026-05/m%d-%d.json", i, j), fmt.Sprint(i, j))
		}
		if err := os.WriteFile(day, []byte(line.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		d.commit(Options{})
	}
	s, err := d.Status()
	if err != nil || s.Growth == nil || s.Growth.Error != "" || s.Growth.Packs > packsMax || s.Growth.Loose > looseMax {
		t.Fatalf("%+v %v", s.Growth, err)
	}
	d.show("fsck")
	t.Logf("%+v for %d bytes of journal", *s.Growth, line.Len())
}

func TestLostState(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write("messages/2026-05/a.json", "a")
	d.commit(Options{})
	d.write(StateFile, "{torn")
	if c, _ := d.commit(Options{}); c.Changed != 0 || c.Removed != 0 { // only the head is named again
		t.Fatalf("committed again what is committed: %+v", c)
	}
	d.write("messages/2026-05/b.json", "b")
	if c, _ := d.commit(Options{}); c.Changed != 1 {
		t.Fatalf("%+v", c)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := d.Commit(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if s, _ := d.Status(); s.Error != nil {
		t.Fatalf("being stopped is no trouble: %+v", s.Error)
	}
}
