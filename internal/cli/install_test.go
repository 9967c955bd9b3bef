package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/office"
)

// installEnv is a world with a home of its own and nothing on PATH but what a
// test puts into bin.
func installEnv(t *testing.T) (e *Env, out *bytes.Buffer, bin string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs here are shell scripts")
	}
	home, bin := t.TempDir(), t.TempDir()
	e = SystemEnv("0.0.0-test")
	out = &bytes.Buffer{}
	vars := map[string]string{"HOME": home, "PATH": bin}
	e.Getenv = func(name string) string { return vars[name] }
	e.Environ, e.Dir, e.Stdout, e.Stderr, e.Procs = []string{"PATH=" + bin}, home, out, out, nil
	e.Executable = func() (string, error) { return filepath.Join(bin, "post"), nil }
	e.System = office.System{Now: e.System.Now, OpenFS: e.System.OpenFS, Machine: func() string { return "m" }, Version: "post 0.0.0-test"}
	return e, out, bin
}

// program makes a script, with the given bits.
func program(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), mode); err != nil {
		t.Fatal(err)
	}
}

// A hook's program that is gone, cannot be executed, or is another version is
// said, each for what it is.
func TestCallable(t *testing.T) {
	t.Parallel()
	e, _, bin := installEnv(t)
	good, old, flat := filepath.Join(bin, "post"), filepath.Join(bin, "old"), filepath.Join(bin, "flat")
	program(t, good, `echo '{"v":1,"version":"post 0.0.0-test"}'`, 0o755)
	program(t, old, `echo '{"v":1,"version":"post 0.0.1"}'`, 0o755)
	program(t, flat, "", 0o644)
	for path, want := range map[string]string{
		good:                          "",
		old:                           "another version (post 0.0.1) than this",
		flat:                          "cannot be executed",
		filepath.Join(bin, "nowhere"): "is not there",
		"post":                        "is called by name",
	} {
		list := e.callable(context.Background(), []string{path, path}, "post install x")
		switch {
		case want == "" && len(list) > 0, want != "" && (len(list) != 1 || !strings.Contains(list[0].What, want) || list[0].Fix != "post install x"):
			t.Errorf("%s: %+v, want %q", path, list, want)
		}
	}
}

// Codex leaves untrusted hooks out without a word; we say so, before.
func TestUntrustedIsSaid(t *testing.T) {
	t.Parallel()
	e, out, _ := installEnv(t)
	if code := Main(context.Background(), e, Commands(), []string{"install", "codex"}); code != 0 || !strings.Contains(out.String(), "does not trust 7 of these hooks") ||
		!strings.Contains(out.String(), `"codex exec" never asks`) {
		t.Errorf("%d %s", code, out)
	}
	out.Reset()
	if code := Main(context.Background(), e, Commands(), []string{"install", "--check", "codex"}); code != 1 || !strings.Contains(out.String(), "leaves them out: session_start") {
		t.Errorf("%d %s", code, out)
	}
}

// A backup is made before anything is written, and a file that somebody changes
// meanwhile is not overwritten.
func TestSettingsChangedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openSettings(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"a":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.write([]byte(`{"a":1,"b":2}`)); err == nil || !strings.Contains(err.Error(), "somebody else changed it just now") {
		t.Error(err)
	}
	if now, _ := os.ReadFile(path); string(now) != `{"a":2}` {
		t.Errorf("%s", now)
	}
}
