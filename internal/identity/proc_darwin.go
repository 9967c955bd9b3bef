package identity

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// System returns the process tree of this machine, asked of sysctl.
func System() ProcessTree { return darwin{} }

type darwin struct{}

func (darwin) Self() int { return os.Getpid() }

func (darwin) Parent() int { return os.Getppid() }

func (darwin) Process(pid int) (Process, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, false
	}
	start := k.Proc.P_starttime
	return Process{
		PID: pid, PPID: int(k.Eproc.Ppid), Name: unix.ByteSliceToString(k.Proc.P_comm[:]), Args: arguments(pid),
		Start: strconv.FormatInt(start.Sec, 10) + "." + strconv.FormatInt(int64(start.Usec), 10),
	}, true
}

func (d darwin) Terminal() (Terminal, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid())
	if err != nil || k.Eproc.Tdev == -1 {
		return Terminal{}, false
	}
	sid, err := unix.Getsid(0)
	if err != nil {
		return Terminal{}, false
	}
	leader, _ := d.Process(sid)
	return Terminal{Device: strconv.Itoa(int(k.Eproc.Tdev)), Leader: sid, Start: leader.Start}, true
}

// arguments reads KERN_PROCARGS2: argc, the program's path, padding, then argc
// strings that end in NUL.
func arguments(pid int) []string {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return nil
	}
	argc := int(binary.LittleEndian.Uint32(raw))
	_, rest, _ := bytes.Cut(raw[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	var args []string
	for range min(argc, 4096) {
		arg, next, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			break
		}
		args, rest = append(args, string(arg)), next
	}
	return args
}
