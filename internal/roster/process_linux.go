package roster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// boot is the id of this boot: pids and starts begin again with it.
func boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// dieWithUs has the system end the agent if its keeper is killed.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}

// kept gives a worker a session of its own, and has the system end it if its
// keeper is killed.
func kept(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	return nil
}

// awaitExit waits until a child has ended and leaves it to be waited for: until
// then nobody else gets its number.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// sessionOf lists the processes of a session.
func sessionOf(sid int) (pids []int) {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it ended meanwhile
		}
		text := string(data)
		f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // state ppid pgrp session …
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(f) > 3 && f[3] == strconv.Itoa(sid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
