//go:build e2e && linux

package links

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// kill -9 of who serves the sending or the receiving office before its n-th call
// of each kind that changes a directory or syncs (strace counts them per thread).
// What it was about to do is done by its successor, once.
func TestKilledAtCalls(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here")
	}
	for _, victim := range []string{"sender", "receiver"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "one:ann", "two:bob")
			one, two := w.station("one"), w.station("two")
			v := map[string]*station{"sender": one, "receiver": two}[victim]
			var ta tally
			killed := 0
			for _, call := range []string{"linkat", "unlinkat", "fsync"} {
				for when := 1; when <= 4; when++ {
					v.serve.end()
					v.serve = v.startProgram("serve.log", strace, "-f", "-qqq", "-o", filepath.Join(v.root, "strace.log"), "--seccomp-bpf",
						"-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, when),
						filepath.Join(programs, "post"), "serve", "--office", v.office)
					ta.say(one, "ann", "bob@two", "--wait", "700ms")
					ta.say(two, "bob", "ann@one", "--wait", "700ms")
					if v.ended(300 * time.Millisecond) {
						killed++
					}
					syscall.Kill(-v.serve.cmd.Process.Pid, syscall.SIGKILL) // strace and what it traces
					v.serve.kill()
					v.up()
				}
			}
			t.Logf("killed at %d calls: %v", killed, w.rest(ta.all()))
			if killed < 3 {
				t.Errorf("killed only %d times", killed)
			}
		})
	}
}

// ended reports whether the server is gone within a time.
func (s *station) ended(within time.Duration) bool {
	select {
	case <-s.serve.done:
		return true
	case <-time.After(within):
		return false
	}
}
