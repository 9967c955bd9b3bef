//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// settings are what a user has before, by path below the home.
func settings() map[string]string {
	return map[string]string{
		".claude/settings.json": "{\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo mine\"}]}]},\n  \"permissions\": {\"allow\": [\"Bash(ls:*)\"]}\n}\n",
		".claude.json":          `{"numStartups": 3, "mcpServers": {"other": {"command": "x"}}}`,
	}
}

// An installation, or its removal, that is killed at any system call leaves
// settings that parse; run again it ends, and what is taken out gives every byte
// back.
func TestInstallKilledAtEverySystemCall(t *testing.T) {
	t.Parallel()
	for _, cmd := range []string{"install", "uninstall"} {
		t.Run(cmd, func(t *testing.T) {
			t.Parallel()
			for n := 1; installKilled(t, cmd, n); n++ {
				killPoints.Add(1)
			}
		})
	}
}

// installKilled reports whether the command was killed at its n-th call.
func installKilled(t *testing.T, cmd string, n int) bool {
	d := bareDesk(t)
	home := filepath.Join(d.root, "home")
	for name, text := range settings() {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	if cmd == "uninstall" {
		d.ok("install", "claude")
	}
	call := ""
	tr := &tracer{path: filepath.Join(programs, "post"), argv: []string{cmd, "claude"}, env: d.env,
		dir: filepath.Join(d.root, "work"), roots: []string{home, filepath.Join(d.root, "state")}}
	tr.at = func(i int, what string) bool {
		call = what
		return i == n
	}
	res := tr.run()
	must(t, res.err)
	if !res.killed && res.exit != 0 {
		t.Fatalf("post %s exits %d by itself", cmd, res.exit)
	}
	for name := range settings() {
		if !json.Valid([]byte(read(t, filepath.Join(home, name)))) {
			t.Fatalf("%s, kill %d, before %s: %s is torn", cmd, n, call, name)
		}
	}
	lock := filepath.Join(home, ".claude.json.lock") // is believed for a while
	_ = os.Chtimes(lock, time.Unix(1, 0), time.Unix(1, 0))
	d.ok("install", "claude")
	d.ok("install", "--check", "claude")
	d.ok("uninstall", "claude")
	for name, text := range settings() {
		if got := read(t, filepath.Join(home, name)); got != text {
			t.Fatalf("%s, kill %d, before %s: %s is now\n%s", cmd, n, call, name, got)
		}
	}
	return res.killed
}
