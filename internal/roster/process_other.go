//go:build unix && !linux

package roster

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// boot: starts are times here, which no boot repeats.
func boot() string { return "" }

// dieWithUs: this system can't; the agent of a keeper that was killed lives on
// and is found by its own record.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{} }

// kept gives a worker a session of its own. That its keeper is gone it learns
// from its standard input, and the next keeper ends it by its record.
func kept(cmd *exec.Cmd) error {
	alone(cmd)
	return nil
}

// awaitExit: this system has no such call.
func awaitExit(int) {}

// sessionOf lists the processes of the group that leads a session.
func sessionOf(sid int) (pids []int) {
	out, err := exec.Command("ps", "-axo", "pid=,pgid=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 2 && f[1] == strconv.Itoa(sid) {
			if pid, err := strconv.Atoi(f[0]); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
