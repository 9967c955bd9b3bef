package identity

import (
	"os/exec"
	"testing"
	"time"
)

// A process that has ended is gone, even if its parent has not looked yet.
func TestZombieIsGone(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s, ok := readStat(cmd.Process.Pid)
		if !ok {
			t.Fatal("not even a zombie")
		}
		if s.dead {
			break
		}
		if time.Now().After(end) {
			t.Fatal("true does not end")
		}
	}
	if p, ok := System().Process(cmd.Process.Pid); ok {
		t.Errorf("it lives: %+v", p)
	}
}
