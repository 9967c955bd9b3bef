package internal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/router"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// python returns Python 3, or "" with a note: the tests that need it say
// nothing without it, and make test insists on it.
func python(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("python3")
	if err != nil {
		t.Log("no python3 here: nothing is shown about other languages")
		return ""
	}
	return p
}

func run(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Env = strings.NewReader(stdin), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PYTHONUTF8=1"}
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out.String(), bad.String())
	}
	return out.String()
}

// TestVectorsInPython: another language, without our code, agrees about every
// vector.
func TestVectorsInPython(t *testing.T) {
	t.Parallel()
	py := python(t)
	if py == "" {
		return
	}
	if out := run(t, "", py, "../scripts/check-vectors.py"); !strings.Contains(out, " 0 failed") {
		t.Error(out)
	}
}

// TestMinimalClient: the client of docs/examples takes part in a real office.
func TestMinimalClient(t *testing.T) {
	t.Parallel()
	py := python(t)
	if py == "" {
		return
	}
	o := realOffice(t, "coder", "pythonist")
	box := filepath.Join(o.Dir, "agents", "pythonist")
	client := func(stdin string, args ...string) string {
		return run(t, stdin, py, append([]string{"../docs/examples/minimal_client.py", box}, args...)...)
	}
	pass := func() {
		t.Helper()
		if _, err := (&router.Router{Office: o}).Pass(context.Background(), router.Options{All: true}); err != nil {
			t.Fatal(err)
		}
	}
	coder, err := mailbox.Open(o, "coder")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := coder.Send(mailbox.Draft{To: []string{"pythonist"}, Act: mail.Request, Subject: "Please", Body: "Zeile ä\n😀"})
	if err = errors.Join(err, sent[0].Err); err != nil {
		t.Fatal(err)
	}
	pass()
	var got struct{ ID, Body string }
	if out := client("", "read"); json.Unmarshal([]byte(out), &got) != nil || got.Body != "Zeile ä\n😀" {
		t.Fatalf("read %q", out)
	}
	if out := client("", "read"); out != "" {
		t.Errorf("read again: %q", out)
	}
	client("Fertig ä.\n", "send", "coder", "done", "Re: Please", got.ID)
	client("", "done", got.ID)
	pass()
	items, err := coder.List(true)
	if err != nil || len(items) != 1 || items[0].From != "pythonist" || items[0].Act != "done" {
		t.Fatalf("coder has %+v, %v", items, err)
	}
	life, err := coder.Trace(mail.ID(got.ID))
	if err != nil {
		t.Fatal(err)
	}
	trace, _ := json.Marshal(life)
	for _, event := range []string{"delivered", "read", "done"} {
		if !strings.Contains(string(trace), event) {
			t.Errorf("the trace lacks %s: %s", event, trace)
		}
	}
	if owed, err := coder.Owed(""); err != nil || len(owed) != 0 {
		t.Errorf("owed: %+v %v", owed, err)
	}
}

// realOffice makes an office on the real file system.
func realOffice(t *testing.T, agents ...string) *office.Office {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sys := office.System{
		Now: time.Now, OpenFS: func(dir string) (vfs.FS, error) { return vfs.OpenReal(dir) }, Machine: func() string { return "m-test" },
		Boot: func() (string, time.Duration, bool) { return "", 0, false }, Host: "test", PID: 1, Version: "post test", Parallel: 4,
	}
	o, _, err := office.Create(filepath.Join(dir, "office"), sys, office.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := o.Registry()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range agents {
		path := filepath.Join(o.Dir, office.AgentsDir, name, spool.Inbox)
		err = errors.Join(err, o.SystemBox(name).Make(), reg.Add(registry.Entry{Name: name, AID: "a-" + name, InboxPath: path, Joined: time.Now()}))
	}
	if err = errors.Join(err, reg.Save(o.FS)); err != nil {
		t.Fatal(err)
	}
	return o
}
