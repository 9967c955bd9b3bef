package notify

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownGroup starts the program in a process group; Windows has no signal for a
// group, so the tree is killed by the system's own tool.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	cmd.Cancel = func() error {
		kill := filepath.Join(os.Getenv("SystemRoot"), "System32", "taskkill.exe")
		if err := exec.Command(kill, "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run(); err == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}

// systemVars are what a Windows program does not run without.
func systemVars() []string {
	return []string{"SystemRoot", "SystemDrive", "TEMP", "TMP", "USERPROFILE", "PATHEXT", "ComSpec"}
}
