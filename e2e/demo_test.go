//go:build e2e && linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The demo works, fits a narrow terminal, leaves nothing behind and is quick;
// and it fails if the program does not do what it shows.
func TestDemo(t *testing.T) {
	d := bareDesk(t)
	tree := filepath.Join(d.root, "tree")
	must(t, os.MkdirAll(filepath.Join(tree, "scripts"), 0o755), os.Symlink(programs, filepath.Join(tree, "bin")),
		os.WriteFile(filepath.Join(tree, "scripts", "demo.sh"), []byte(read(t, "../scripts/demo.sh")), 0o755))
	demo := func() (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(tree, "scripts", "demo.sh"))
		cmd.Env, cmd.SysProcAttr = append(d.env, "CLAUDECODE=1"), &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	start := time.Now()
	out, err := demo()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	for n, line := range lines(out) {
		if len([]rune(line)) > 80 {
			t.Errorf("line %d has %d characters: %s", n+1, len([]rune(line)), line)
		}
	}
	if left := names(t, filepath.Join(d.root, "tmp")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if !strings.Contains(out, "## [researcher→coder]") || !strings.Contains(out, "delivered  coder") {
		t.Errorf("no transcript or no trace:\n%s", out)
	}
	must(t, os.Remove(filepath.Join(tree, "bin")), os.Mkdir(filepath.Join(tree, "bin"), 0o755),
		os.WriteFile(filepath.Join(tree, "bin", "post"), []byte("#!/bin/sh\necho all is well\n"), 0o755))
	if out, err := demo(); err == nil || !strings.Contains(out, "the demo went wrong") {
		t.Errorf("it does not notice: %s", out)
	}
}
