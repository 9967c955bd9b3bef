//go:build unix

package roster

import (
	"errors"
	"os/exec"
	"syscall"
)

// alone gives a program a session of its own: no terminal, and a group that can
// be stopped as a whole.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func terminate(pids []int) error { return signalAll(pids, syscall.SIGTERM) }

func kill(pids []int) error { return signalAll(pids, syscall.SIGKILL) }

func signalAll(pids []int, sig syscall.Signal) error {
	var errs []error
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
