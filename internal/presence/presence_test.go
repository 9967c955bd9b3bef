package presence

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

func put(t *testing.T, box vfs.FS, text string) {
	t.Helper()
	f, err := box.OpenFile(File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func realDir(t *testing.T) (vfs.FS, string) {
	t.Helper()
	dir := t.TempDir()
	box, err := vfs.OpenReal(dir)
	if err != nil {
		t.Fatal(err)
	}
	return box, dir
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	box, _ := realDir(t)
	if s, ok, err := Read(box); ok || err != nil {
		t.Fatalf("nothing there: %+v %v", s, err)
	}
	at := time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)
	want := Session{V: 1, Runtime: "claude", ID: "s-1", PID: 42, Start: "99", State: Busy, Since: at, At: at.Add(time.Second), Event: "UserPromptSubmit",
		OneShot: true, Cwd: "/a\nb", Socket: "/run/s", Tmux: "/tmp/tmux", Pane: "%3", Mode: "plan", Version: "2.1"}
	for range 2 { // a second one replaces the first
		if err := Write(box, want); err != nil {
			t.Fatal(err)
		}
		got, ok, err := Read(box)
		if got != want || !ok || err != nil {
			t.Fatalf("%+v %v %v", got, ok, err)
		}
	}
	if names, err := box.ReadNames("."); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v %v", names, err)
	}
}

func TestNothingKnown(t *testing.T) {
	t.Parallel()
	good := `{"v":1,"runtime":"codex","id":"t","state":"idle"`
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"minimal", good + `}`, true},
		{"unknown fields", good + `,"mood":"fine"}`, true},
		{"empty", ``, false},
		{"torn", good, false},
		{"no object", `[1]`, false},
		{"wrong type", good + `,"pid":"7"}`, false},
		{"newer version", strings.Replace(good, `"v":1`, `"v":2`, 1) + `}`, false},
		{"unknown state", strings.Replace(good, "idle", "dreaming", 1) + `}`, false},
		{"no id", `{"v":1,"runtime":"codex","state":"idle"}`, false},
		{"negative pid", good + `,"pid":-1}`, false},
		{"too large", good + `,"x":"` + strings.Repeat("x", maxSize) + `"}`, false},
	} {
		box, _ := realDir(t)
		put(t, box, c.text)
		if s, ok, err := Read(box); ok != c.ok || err != nil || !ok && s != (Session{}) {
			t.Errorf("%s: %+v %v %v", c.name, s, ok, err)
		}
	}
}

// A mailbox belongs to its agent: what it puts there is never followed.
func TestHostileFile(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"symlink":   func(p string) error { return os.Symlink("/etc/passwd", p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		box, dir := realDir(t)
		if err := plant(filepath.Join(dir, File)); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := Read(box); ok || err != nil {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	box, dir := realDir(t)
	good := Session{Runtime: "claude", ID: "s", State: Idle}
	for _, s := range []Session{{}, {Runtime: "claude", ID: "s"}, {Runtime: "claude", State: Idle}, {ID: "s", State: Idle}} {
		if err := Write(box, s); mail.KindOf(err) != mail.KindStore {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, File), 0o700); err != nil {
		t.Fatal(err)
	}
	err := Write(box, good)
	if mail.KindOf(err) != mail.KindStore || !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if names, _ := box.ReadNames("."); len(names) != 1 {
		t.Errorf("the temporary file stays: %v", names)
	}
}

// Readers beside writers see whole files only.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	box, _ := realDir(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 25 {
				if err := Write(box, Session{Runtime: "claude", ID: strings.Repeat("x", 1+i*50), State: Idle}); err != nil {
					t.Error(err)
				}
				if _, ok, err := Read(box); !ok || err != nil {
					t.Errorf("torn: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestInADirectory(t *testing.T) {
	t.Parallel()
	office, dir := realDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "agents", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteIn(office, "agents/a", Session{Runtime: "claude", ID: "s", State: Idle}); err != nil {
		t.Fatal(err)
	}
	box, err := vfs.OpenReal(filepath.Join(dir, "agents", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok, err := Read(box); !ok || err != nil || s.ID != "s" {
		t.Errorf("%+v %v %v", s, ok, err)
	}
	if s, ok, err := ReadIn(office, "agents/a"); !ok || err != nil || s.ID != "s" {
		t.Errorf("%+v %v %v", s, ok, err)
	}
}
