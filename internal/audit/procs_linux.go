package audit

import (
	"bytes"
	"errors"
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
		return false, !isGit || ended(proc, err)
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
		if err != nil && !ended(proc, err) {
			return false, false
		}
		if bytes.Contains(data, []byte(filepath.Base(gitDir))) && bytes.Contains(data, []byte(officeDir)) {
			return true, true
		}
	}
	return false, true
}

// ended reports whether err came because the process has ended meanwhile; one
// that its parent has not yet waited for can be looked at only in part.
func ended(proc string, err error) bool {
	if os.IsNotExist(err) || errors.Is(err, syscall.ESRCH) {
		return true
	}
	stat, serr := os.ReadFile(proc + "/stat")
	if serr != nil {
		return true
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(rest, []byte("Z")) || bytes.HasPrefix(rest, []byte("X"))
}
