package identity

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/vfs"
)

// System returns the process tree of this machine, read from /proc.
func System() ProcessTree { return linux{} }

type linux struct{}

func (linux) Self() int { return os.Getpid() }

func (linux) Parent() int { return os.Getppid() }

func (linux) Process(pid int) (Process, bool) {
	s, ok := readStat(pid)
	if !ok || s.dead {
		return Process{}, false
	}
	p := Process{PID: pid, PPID: s.ppid, Name: s.name, Start: s.start}
	if shell(s.name) {
		return p, true
	}
	if data, err := vfs.ReadSystem(procFile(pid, "cmdline"), maxCommandLine); err == nil {
		p.Args = strings.Split(string(bytes.TrimRight(data, "\x00")), "\x00")
	}
	return p, true
}

// maxCommandLine is how much of a command line is looked at, in bytes.
const maxCommandLine = 256 << 10

// shell reports whether a program is never a runtime, whatever its arguments:
// a script is named after its file. Most of what is above a command are these.
func shell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "fish", "tmux: server", "sshd", "login", "systemd":
		return true
	}
	return false
}

func (linux) Terminal() (Terminal, bool) {
	s, ok := readStat(os.Getpid())
	if !ok || s.tty == "0" {
		return Terminal{}, false
	}
	leader, _ := readStat(s.session) // gone: the start stays empty
	boot, _ := vfs.ReadSystem("/proc/sys/kernel/random/boot_id", 4<<10)
	start := leader.start + "@" + strings.TrimSpace(string(boot))
	return Terminal{Device: s.tty, Leader: s.session, Start: start}, true
}

// stat is what is needed of /proc/PID/stat (proc(5)).
type stat struct {
	name          string
	dead          bool // it has ended, and its parent has not looked yet
	ppid, session int
	tty, start    string // start in clock ticks since boot
}

func readStat(pid int) (stat, bool) {
	data, err := vfs.ReadSystem(procFile(pid, "stat"), 4<<10)
	if err != nil {
		return stat{}, false
	}
	return parseStat(string(data))
}

// parseStat cuts at the last ")": a program's name may hold any character.
func parseStat(text string) (stat, bool) {
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return stat{}, false
	}
	var f [20]string // state ppid pgrp session tty_nr … starttime
	rest, more := strings.TrimPrefix(text[shut+1:], " "), true
	for i := range f {
		if !more {
			return stat{}, false
		}
		f[i], rest, more = strings.Cut(rest, " ")
	}
	ppid, err1 := strconv.Atoi(f[1])
	session, err2 := strconv.Atoi(f[3])
	// A program with threads that is replaced by exec shows its first one ended for
	// a moment; what has threads left lives.
	dead := (f[0] == "Z" || f[0] == "X") && (f[17] == "0" || f[17] == "1")
	return stat{text[open+1 : shut], dead, ppid, session, f[4], f[19]}, err1 == nil && err2 == nil
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// In lists processes by their working directory.
func (l linux) In(dir string) (out []Process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if at, err := os.Readlink(procFile(pid, "cwd")); err != nil || at != dir {
			continue
		}
		if p, ok := l.Process(pid); ok {
			out = append(out, p)
		}
	}
	return out
}
