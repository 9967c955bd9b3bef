//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// clisVar says where the CLIs are installed, one npm prefix for each.
	clisVar = "POSTROOM_E2E_CLIS"
	// onlyVar limits a run to some CLIs, separated by commas.
	onlyVar = "POSTROOM_E2E_ONLY"
)

// clis is every CLI with its pinned version, in the order of the table. A new
// version is a change here, and then a look at what the scenarios say.
func clis() []cli {
	const modules = "node_modules/"
	return []cli{
		{"claude", "@anthropic-ai/claude-code", "2.1.332", modules + "@anthropic-ai/claude-code-linux-x64/claude", claude{}},
		{"codex", "@openai/codex", "0.171.0", modules + "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", codex{}},
		{"gemini", "@google/gemini-cli", "0.61.0", modules + ".bin/gemini", gemini{}},
		{"opencode", "opencode-ai", "1.18.33", modules + "opencode-linux-x64/bin/opencode", opencode{}},
		{"qwen", "@qwen-code/qwen-code", "0.15.10", modules + ".bin/qwen", qwen{}},
		{"copilot", "@github/copilot", "1.0.102", modules + "@github/copilot-linux-x64/copilot", copilot{}},
	}
}

// cli is one coding CLI as npm has it.
type cli struct {
	name, pkg, version string
	bin                string // below the npm prefix
	program
}

// cliDir is where the CLIs are: $POSTROOM_E2E_CLIS, or the user's cache.
func cliDir() (string, error) {
	if dir := os.Getenv(clisVar); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "postroom", "e2e-clis"), err
}

// installAll installs what is missing and says what cannot be had.
func installAll() (there, missing map[string]string) {
	there, missing = map[string]string{}, map[string]string{}
	dir, err := cliDir()
	for _, c := range clis() {
		if only := os.Getenv(onlyVar); only != "" && !strings.Contains(","+only+",", ","+c.name+",") {
			missing[c.name] = "not in " + onlyVar
			continue
		}
		path := ""
		if err == nil {
			path, err = c.install(dir)
		}
		if err != nil {
			missing[c.name] = fmt.Sprintf("not installed: %v", err)
			err = nil
			continue
		}
		there[c.name] = path
	}
	return there, missing
}

// install makes sure that the pinned version is in its prefix.
func (c cli) install(dir string) (string, error) {
	prefix := filepath.Join(dir, c.name)
	path := filepath.Join(prefix, c.bin)
	if c.installed(prefix) == c.version {
		return path, executable(path)
	}
	if err := os.MkdirAll(prefix, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if c.installed(prefix) == c.version { // by somebody else, meanwhile
		return path, executable(path)
	}
	fmt.Fprintf(os.Stderr, "installing %s@%s into %s\n", c.pkg, c.version, prefix)
	start := time.Now()
	npm := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix", prefix, c.pkg+"@"+c.version)
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", npm, err, firstLine(string(out)))
	}
	fmt.Fprintf(os.Stderr, "installed in %.0fs\n", time.Since(start).Seconds())
	return path, executable(path)
}

// installed is the version in a prefix, "" if there is none.
func (c cli) installed(prefix string) string {
	var p struct{ Version string }
	raw, err := os.ReadFile(filepath.Join(prefix, "node_modules", c.pkg, "package.json"))
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return ""
	}
	return p.Version
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&0o111 == 0 {
		err = fmt.Errorf("%s is not executable", path)
	}
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
