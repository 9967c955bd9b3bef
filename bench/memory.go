package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
)

const (
	mib = 1 << 20
	// idleGoal is what a router may keep in memory when it has nothing to do.
	idleGoal = 12 * mib
	// burst is how many messages the router moves in between.
	burst = 1000
	// calm is how long a router that has nothing to do needs until it is idle:
	// more than the 5 s of a pass over all (internal/serve).
	calm = 12 * time.Second
)

// memory measures what the always-on router keeps.
func memory(b *bench) error {
	dir, _, err := b.makeOffice("memory", 2)
	if err != nil {
		return err
	}
	return b.routerMemory(dir, "")
}

// routerMemory runs postd serve on an office: idle, then with a burst of mail
// from a0 to a1, then idle again.
func (b *bench) routerMemory(dir, where string) error {
	if runtime.GOOS != "linux" {
		fmt.Fprintln(os.Stderr, "memory is measured on Linux only")
		return nil
	}
	cmd := exec.Command(b.postd, "serve", "--office", dir)
	cmd.Env, cmd.Dir, cmd.Stderr = b.env(), b.dir, b.stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGTERM)
	time.Sleep(calm)
	idle, _, err := resident(cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := burstThrough(dir); err != nil {
		return err
	}
	time.Sleep(calm)
	after, peak, err := resident(cmd.Process.Pid)
	if err != nil {
		return err
	}
	show := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/mib) }
	goal := "goal " + show(idleGoal)
	b.atMost("router memory, idle"+where, show(idle), goal, float64(idle)/idleGoal, 1)
	b.atMost(fmt.Sprintf("router memory, idle after %d messages%s", burst, where), show(after), goal, float64(after)/idleGoal, 1)
	b.note("router memory, peak"+where, show(peak), goal, float64(peak)/idleGoal)
	return nil
}

// burstThrough puts mail into a0's outbox and waits until the router, which is
// somebody else, has taken all of it.
func burstThrough(dir string) error {
	o, err := office.Open(dir, cli.SystemEnv("bench").System)
	if err != nil {
		return err
	}
	m, err := mailbox.Open(o, "a0")
	if err != nil {
		return err
	}
	for i := range burst {
		sent, err := m.Send(mailbox.Draft{To: []string{"a1"}, Subject: fmt.Sprint("burst ", i), Body: body})
		if err != nil {
			return err
		}
		if sent[0].Err != nil {
			return sent[0].Err
		}
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		left, err := m.Author.Box.FS.ReadNames(m.Author.Box.Path(spool.Outbox))
		if err != nil {
			return err
		}
		waiting := 0
		for _, name := range left {
			if !strings.HasPrefix(name, ".") {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
	}
	return fmt.Errorf("postd serve did not take the mail")
}

// resident is what a process has in memory now and had at most, in bytes.
func resident(pid int) (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			now = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	if now == 0 {
		return 0, 0, fmt.Errorf("process %d has ended", pid)
	}
	return now, most, nil
}
