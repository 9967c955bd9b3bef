//go:build unix

package notify_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
)

// At the deadline the whole group goes, also what the program started.
func TestExecKillsTheGroup(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	g.mode("hang")
	fifo := filepath.Join(g.dir, "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	alive, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	if err := alive.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	out, _ := notify.Exec{}.Notify(bounded(t, 3*time.Second), notify.Agent{Name: "coder", Notify: g.notify()}, notifytest.Pointer(t, "coder"))
	if out.State != notify.Failed || !strings.HasPrefix(out.Evidence, "took longer than ") || !strings.HasSuffix(out.Evidence, "s; killed") {
		t.Errorf("%+v", out)
	}
	if got, err := io.ReadAll(alive); string(got) != "x" || err != nil {
		t.Errorf("the child of the program: %q, %v; want a sign of life and then its end", got, err)
	}
}
