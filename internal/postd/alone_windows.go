package postd

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// alone gives a program a group and no console, so that it outlives the terminal.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
