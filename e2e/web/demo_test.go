//go:build e2e

package web

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDemoOffice: make demo-office fills an office, proves it, prints a link to its
// page, and leaves nothing behind.
func TestDemoOffice(t *testing.T) {
	t.Parallel()
	if tools.missing != "" {
		t.Skip(tools.missing)
	}
	if _, err := os.Stat("../../bin/postd"); err != nil {
		if onCI() {
			t.Fatal("bin/postd is missing: run make build")
		}
		t.Skip("bin/postd is missing: run make build")
	}
	room := t.TempDir()
	cmd := exec.Command("../../scripts/demo-office.sh", "7")
	cmd.Env = append(os.Environ(), "TMPDIR="+room, "DISPLAY=", "WAYLAND_DISPLAY=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // nothing is left of it unless something went wrong
	link, said := "", ""
	for lines := bufio.NewScanner(out); link == "" && lines.Scan(); {
		said += lines.Text() + "\n"
		if text := strings.TrimSpace(lines.Text()); strings.HasPrefix(text, "http://") {
			link = text
		}
	}
	t.Logf("the link was there after %v", time.Since(begin).Round(time.Second))
	if link == "" || !strings.Contains(said, "all agree") {
		t.Fatalf("it says %q", said)
	}
	b := (&place{t: t}).newTab()
	b.use(link)
	b.shows("web-shop")
	b.shows("reviewer")
	b.open("/threads")
	b.until("there are threads", `document.querySelectorAll('main a[href^="/threads/"]').length > 10`)
	b.clean()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(room, "postroom-office*")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}
