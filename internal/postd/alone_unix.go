//go:build unix

package postd

import (
	"os/exec"
	"syscall"
)

// alone gives a program a session of its own, so that it outlives the terminal.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
