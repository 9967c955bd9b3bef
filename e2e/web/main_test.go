//go:build e2e

package web

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	// axeVersion is what judges the pages' accessibility.
	axeVersion = "4.14.1"
	version    = "0.0.0-e2e"
	// patience is how long anything may take on a machine that is busy.
	patience = 60 * time.Second
)

// tools is what all scenarios share. It is set before the first one runs.
var tools struct {
	programs string          // the directory of post and postd
	browser  context.Context // one Chromium; each scenario has contexts of its own in it
	axe      string          // the text of axe-core
	missing  string          // why there is no browser, or ""
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/web:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	chromium, err := findChromium()
	if err != nil && onCI() {
		return 1, err
	}
	if err != nil {
		tools.missing = err.Error()
		return m.Run(), nil
	}
	if err := readAxe(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "postroom-e2e-web")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	tools.programs = filepath.Join(dir, "bin")
	if err := build(tools.programs); err != nil {
		return 1, err
	}
	ctx, stop := openBrowser(chromium, filepath.Join(dir, "profile"))
	defer stop()
	if err := chromedp.Do(ctx); err != nil {
		return 1, fmt.Errorf("%s does not start: %w", chromium, err)
	}
	tools.browser = ctx
	return m.Run(), nil
}

// onCI: what is missing is a failure.
func onCI() bool { return os.Getenv("POSTROOM_E2E_CI") != "" }

func findChromium() (string, error) {
	if path := os.Getenv("POSTROOM_E2E_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium here: apt-get install chromium, or name one in POSTROOM_E2E_CHROMIUM")
}

// openBrowser starts a Chromium that reaches nothing but this machine.
func openBrowser(path, profile string) (context.Context, context.CancelFunc) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE *.localhost"))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	return ctx, func() { stop(); stopAllocator() }
}

// readAxe reads axe-core, installed once.
func readAxe() error {
	dir := os.Getenv("POSTROOM_E2E_AXE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		dir = filepath.Join(cache, "postroom", "e2e-axe-"+axeVersion)
	}
	file := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(file); err != nil {
		cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, "axe-core@"+axeVersion)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm install axe-core@%s: %w\n%s", axeVersion, err, out)
		}
	}
	text, err := os.ReadFile(file)
	tools.axe = string(text)
	return err
}

func build(dir string) error {
	cmd := exec.Command("go", "build", "-ldflags", "-X main.version="+version, "-o", dir+string(filepath.Separator), "../../cmd/...")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}
