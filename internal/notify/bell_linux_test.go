package notify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"golang.org/x/sys/unix"
)

// screen is a terminal of our own, and what was written to it.
type screen struct {
	master *os.File
	tty    string
	mu     sync.Mutex
	wrote  string
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no terminals can be made here: " + err.Error())
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	s := &screen{master: os.NewFile(uintptr(fd), "ptmx"), tty: fmt.Sprintf("/dev/pts/%d", n)}
	// Held open, so that the master goes on reading when the bell has closed it.
	slave, err := os.OpenFile(s.tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals can be opened here: " + err.Error())
	}
	t.Cleanup(func() { s.master.Close(); slave.Close() })
	return s
}

// text is all that was written so far.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := make([]byte, 4096)
	_ = s.master.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	for {
		n, err := s.master.Read(buf)
		s.wrote += string(buf[:n])
		if err != nil || n == 0 {
			return s.wrote
		}
	}
}

func TestBellContract(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
		s := newScreen(t)
		agent := notify.Agent{Notify: []string{"bell", s.tty}}
		return notifytest.Fixture{Adapter: notify.Bell{}, Agent: agent, Wordless: true,
			Seen:   func() []string { return strings.Split(s.text(), "")[:len(s.text())] },
			Refuse: func() { agent.Notify[1] = s.tty + "9999" }}
	})
}

// One byte, and to terminals of this user's only.
func TestBell(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, other := newScreen(t), newScreen(t)
	ring := func(ttys ...string) (notify.Outcome, error) {
		return notify.Bell{}.Notify(ctx, notify.Agent{Name: "human", Notify: append([]string{"bell"}, ttys...)}, personPointer(t))
	}
	out, err := ring(s.tty, "/dev/pts/99999", other.tty)
	if err != nil || out.State != notify.Notified || !strings.Contains(out.Evidence, "rang "+s.tty+", "+other.tty+"; not /dev/pts/99999") {
		t.Fatalf("%+v, %v", out, err)
	}
	if s.text() != "\a" || other.text() != "\a" {
		t.Errorf("%q, %q", s.text(), other.text())
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, "/dev/null", "/dev/zero", "/dev/pts/../null", "/dev", "pts/1", "", "/dev/pts/1\n"} {
		if out, err := ring(bad); err == nil || out.State != notify.Failed {
			t.Errorf("%q: %+v", bad, out)
		}
	}
	if data, err := os.ReadFile(file); err != nil || len(data) != 0 {
		t.Errorf("a file was written to: %q, %v", data, err)
	}
}

// A terminal whose output is stopped holds nobody up.
func TestBellOfAStoppedTerminal(t *testing.T) {
	t.Parallel()
	s := newScreen(t)
	slave, err := os.OpenFile(s.tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	if err := unix.IoctlSetInt(int(slave.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Skip(err)
	}
	done := make(chan notify.Outcome, 1)
	go func() {
		out, _ := notify.Bell{}.Notify(context.Background(), notify.Agent{Name: "human", Notify: []string{"bell", s.tty}}, personPointer(t))
		done <- out
	}()
	select {
	case out := <-done:
		if out.State == notify.Notified && s.text() == "" {
			t.Errorf("%+v, and nothing came", out)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits for ever")
	}
}
