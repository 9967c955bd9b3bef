//go:build unix

package notify

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the program into a process group and has the whole group
// killed at the deadline.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if err == syscall.ESRCH {
			return os.ErrProcessDone
		}
		return err
	}
}

func systemVars() []string { return nil }
