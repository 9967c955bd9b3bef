//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programs is where the programs under test stand. It is written once, before
// the first scenario.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "postroom-e2e-bin-")
	if err == nil {
		programs = dir
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build makes the programs as `make build` does.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=0.0.0-e2e", "-o", dir+string(filepath.Separator), "../cmd/...")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return os.Chmod(dir, 0o755) // scenarios run them as other users, too
}
