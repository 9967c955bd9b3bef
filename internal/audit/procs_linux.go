package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// usedBy names a process that may own the lock: one that has it open, or a git
// at work on the repository. certain is false if a process that could be one
// cannot be looked at.
func usedBy(lock, gitDir, officeDir string) (user string, certain bool) {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(procs) == 0 {
		return "", false
	}
	certain = true
	for _, p := range procs {
		fi, err := os.Stat(p)
		if err != nil {
			continue // it has ended
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() && os.Geteuid() != 0 {
			continue // others cannot write here (0700)
		}
		switch uses, known := owns(p, lock, gitDir, officeDir); {
		case uses:
			return "process " + filepath.Base(p), true
		case !known:
			certain = false
		}
	}
	return "", certain
}

func owns(proc, lock, gitDir, officeDir string) (uses, known bool) {
	if pid, _ := strconv.Atoi(filepath.Base(proc)); pid == os.Getpid() {
		return false, true
	}
	comm, err := os.ReadFile(proc + "/comm")
	if err != nil {
		return false, true // it has ended
	}
	isGit := strings.HasPrefix(string(comm), "git")
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return false, !isGit || os.IsNotExist(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(proc + "/fd/" + fd.Name()); err == nil && to == lock {
			return true, true
		}
	}
	if !isGit {
		return false, true
	}
	cwd, err := os.Readlink(proc + "/cwd")
	if err == nil && (cwd == officeDir || strings.HasPrefix(cwd, officeDir+"/")) {
		return true, true
	}
	for _, f := range []string{"/environ", "/cmdline"} {
		data, err := os.ReadFile(proc + f)
		if err != nil && !os.IsNotExist(err) {
			return false, false
		}
		if bytes.Contains(data, []byte(filepath.Base(gitDir))) && bytes.Contains(data, []byte(officeDir)) {
			return true, true
		}
	}
	return false, true
}
