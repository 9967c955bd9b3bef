package office

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// errDisk is what a failing disk says.
var errDisk = errors.New("no space left on device")

func fixedNow() time.Time { return time.Date(2026, 5, 30, 14, 3, 11, 0, time.UTC) }

func testSystem(open func(string) (vfs.FS, error)) System {
	return System{Now: fixedNow, OpenFS: open, Machine: func() string { return "m-test" }, Version: "post test"}
}

func realSystem() System {
	return testSystem(func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) })
}

// complete checks that an office has all that design §3 says.
func complete(t *testing.T, fsys vfs.FS) {
	t.Helper()
	data, _, err := spool.ReadFile(fsys, config.OfficeFile, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.DecodeOffice(data)
	if err != nil || cfg.Machine != "m-test" || cfg.Inode == 0 {
		t.Fatalf("%+v %v", cfg, err)
	}
	if _, err := registry.Load(fsys); err != nil {
		t.Fatal(err)
	}
	names := append(Dirs(), spool.LeaseFile)
	for _, a := range []string{"human", "postroom"} {
		for _, d := range []string{spool.Done, spool.Sent, spool.Failed, spool.Keys} {
			names = append(names, AgentsDir+"/"+a+"/"+d)
		}
	}
	for _, n := range names {
		if _, err := fsys.Lstat(n); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever call a crash follows: if postroom.toml survived, so did all the
// rest, in every state; if it did not, the next init finishes the office.
func TestFurnishCrash(t *testing.T) {
	t.Parallel()
	calls, whole := countFurnish(t), 0
	for n := 1; n <= calls; n++ {
		mem := vfs.NewMem(fixedNow)
		var f vfs.Fault
		f.CrashAfter(n)
		sys := testSystem(nil)
		vfs.Crashed(func() { Furnish(f.Wrap(mem), "/", sys, CreateOptions{}) })
		if _, err := mem.Lstat(config.OfficeFile); err != nil {
			mem.SyncAll()
		}
		for state := range mem.CrashStates(64) {
			if _, err := state.Lstat(config.OfficeFile); err == nil {
				complete(t, state)
				whole++
			}
			if _, err := Furnish(state, "/", sys, CreateOptions{}); err != nil {
				t.Fatalf("after call %d: %v\n%s", n, err, state)
			}
			complete(t, state)
		}
	}
	if whole == 0 {
		t.Error("no crash left the finished office; the test looks at nothing")
	}
}

func countFurnish(t *testing.T) int {
	t.Helper()
	var f vfs.Fault
	if made, err := Furnish(f.Wrap(vfs.NewMem(fixedNow)), "/", testSystem(nil), CreateOptions{}); !made || err != nil {
		t.Fatal(made, err)
	}
	return len(f.Calls())
}

// An error at any call is told, or did no harm; init then works.
func TestFurnishFaults(t *testing.T) {
	t.Parallel()
	for n := 1; n <= countFurnish(t); n++ {
		mem := vfs.NewMem(fixedNow)
		var f vfs.Fault
		f.FailAt(n, errDisk)
		sys := testSystem(nil)
		made, err := Furnish(f.Wrap(mem), "/", sys, CreateOptions{})
		if err == nil {
			complete(t, mem)
		} else if made {
			t.Errorf("call %d: made, and %v", n, err)
		}
		if _, err := Furnish(mem, "/", sys, CreateOptions{}); err != nil {
			t.Fatalf("after a fault at call %d: %v", n, err)
		}
		complete(t, mem)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b")
	o, made, err := Create(dir, realSystem(), CreateOptions{Name: "team", PersonCheck: config.PersonCheckEnv})
	if err != nil || !made || o.Config.Name != "team" || o.Config.PersonCheck != config.PersonCheckEnv {
		t.Fatalf("%v %v %+v", made, err, o)
	}
	complete(t, o.FS)
	if err := o.CheckWritable(); err != nil {
		t.Fatal(err)
	}
	again, made, err := Create(dir, realSystem(), CreateOptions{})
	if err != nil || made || again.Config.ID != o.Config.ID {
		t.Fatalf("%v %v", made, err)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Create(file, realSystem(), CreateOptions{}); mail.KindOf(err) != mail.KindStore {
		t.Error(err)
	}
	if _, _, err := Create(root, realSystem(), CreateOptions{}); mail.KindOf(err) != mail.KindConflict {
		t.Error(err)
	}
}

// withAgents makes an office with an agent inside and one outside.
func withAgents(t *testing.T, root string) *Office {
	t.Helper()
	o, _, err := Create(filepath.Join(root, "old"), realSystem(), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := o.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for name, box := range map[string]string{"in": filepath.Join(o.Dir, AgentsDir, "in"), "out": filepath.Join(root, "ws", ".mail")} {
		e := registry.Entry{AID: "a-" + name, Name: name, InboxPath: filepath.Join(box, spool.Inbox), Notify: []string{"none"}, Joined: fixedNow()}
		if err := reg.Add(e); err != nil {
			t.Fatal(err)
		}
		if name == "in" {
			err = o.SystemBox(name).Make()
		} else {
			err = o.MakeOutside(box, name, e.AID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := reg.Save(o.FS); err != nil {
		t.Fatal(err)
	}
	return o
}

// settled checks that the office in dir is at home and its mailboxes are where
// the registry says.
func settled(t *testing.T, dir, root string) {
	t.Helper()
	o, err := Open(dir, realSystem())
	if err != nil {
		t.Fatal(err)
	}
	if err := o.CheckWritable(); err != nil {
		t.Fatal(err)
	}
	reg, err := o.Registry()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"in": filepath.Join(dir, AgentsDir, "in", spool.Inbox), "out": filepath.Join(root, "ws", ".mail", spool.Inbox)}
	for name, path := range want {
		e, _ := reg.Entry(name)
		if e.InboxPath != path {
			t.Fatalf("%s: %s, want %s", name, e.InboxPath, path)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := withAgents(t, root)
	to := filepath.Join(root, "new", "place")
	if err := o.Move(to); err != nil {
		t.Fatal(err)
	}
	settled(t, to, root)
	if _, err := Open(o.Dir, realSystem()); mail.KindOf(err) != mail.KindForeign {
		t.Errorf("the old place: %v", err)
	}
}

// A fault at any call of a move leaves one office, in one place, which says so
// or is settled by Arrive.
func TestMoveFaults(t *testing.T) {
	t.Parallel()
	for n, more := 1, true; more; n++ {
		root := t.TempDir()
		o := withAgents(t, root)
		var f vfs.Fault
		f.FailFrom(n, errDisk)
		sys := testSystem(func(dir string) (vfs.FS, error) {
			r, err := vfs.OpenReal(dir)
			if err != nil {
				return nil, err
			}
			return f.Wrap(r), nil
		})
		faulty := &Office{FS: f.Wrap(o.FS), Dir: o.Dir, Config: o.Config, Sys: sys, settings: o.settings}
		to := filepath.Join(root, "to")
		err := faulty.Move(to)
		more = len(f.Calls()) >= n
		at := o.Dir
		if _, serr := os.Stat(filepath.Join(to, config.OfficeFile)); serr == nil {
			at = to
			if _, serr := os.Stat(filepath.Join(o.Dir, config.OfficeFile)); !errors.Is(serr, fs.ErrNotExist) {
				t.Fatalf("fault %d: two offices", n)
			}
		}
		if err == nil && at != to {
			t.Fatalf("fault %d: success without a move", n)
		}
		here, oerr := Open(at, realSystem())
		if oerr != nil {
			t.Fatal(oerr)
		}
		if _, aerr := here.Arrive(); aerr != nil {
			t.Fatalf("fault %d (%v): %v", n, err, aerr)
		}
		settled(t, at, root)
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := withAgents(t, root)
	box := filepath.Join(root, "ws", ".mail")
	if err := o.MakeOutside(box, "out", "a-out"); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := o.MakeOutside(box, "other", "a-other"); mail.KindOf(err) != mail.KindConflict {
		t.Errorf("another's: %v", err)
	}
	if err := o.MakeOutside(filepath.Join(root, "ws"), "x", "a-x"); mail.KindOf(err) != mail.KindConflict {
		t.Errorf("not empty: %v", err)
	}
}

// A file system that lacks what the protocol needs is refused before anything
// relies on it.
func TestProbe(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"link", "rename", "syncdir", "sync", "open", "write"} {
		mem := vfs.NewMem(fixedNow)
		var f vfs.Fault
		f.FailIf(func(c vfs.Call) error {
			if c.Op == op {
				return errors.ErrUnsupported
			}
			return nil
		})
		if err := probe(f.Wrap(mem)); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", op, err)
		}
		if names, _ := mem.ReadNames("."); len(names) > 0 {
			t.Errorf("%s: left %v", op, names)
		}
	}
	if err := probe(vfs.NewMem(fixedNow)); err != nil {
		t.Error(err)
	}
}

// A directory that was there before is closed to everybody else.
func TestDirectoriesArePrivate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir, box := filepath.Join(root, "office"), filepath.Join(root, "box")
	for _, d := range []string{dir, box} {
		if err := errors.Join(os.Mkdir(d, 0o777), os.Chmod(d, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	o, _, err := Create(dir, realSystem(), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.MakeOutside(box, "ann", "a-ann"); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, box} {
		fi, err := os.Stat(d)
		if err != nil {
			t.Fatal(err)
		}
		if perm := fi.Mode().Perm(); perm != 0o700 && runtime.GOOS != "windows" {
			t.Errorf("%s is %o", filepath.Base(d), perm)
		}
	}
}
