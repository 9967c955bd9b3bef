//go:build e2e && linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer runs a program and looks at every system call of all its threads, in
// the order in which they are made. What strace counts per thread it counts per
// program, so that the n-th call is the n-th whichever thread makes it.
type tracer struct {
	path string
	argv []string
	env  []string
	dir  string
	// roots are the directories whose system calls count.
	roots []string
	// at is called before the n-th call that counts; true kills the program
	// there, before the call is made.
	at func(n int, call string) (kill bool)
	// stdin and stdout are files; nil is /dev/null.
	stdin, stdout, stderr *os.File
}

// traced is how it ended.
type traced struct {
	calls  int
	killed bool
	exit   int
	err    error
}

// run runs the program. All of ptrace belongs to one thread, which ends with it.
func (tr *tracer) run() traced {
	done := make(chan traced)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with the goroutine
		done <- tr.loop()
	}()
	return <-done
}

func (tr *tracer) start() (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	files := []*os.File{tr.stdin, tr.stdout, tr.stderr}
	for i := range files {
		if files[i] == nil {
			files[i] = null
		}
	}
	p, err := os.StartProcess(tr.path, append([]string{tr.path}, tr.argv...), &os.ProcAttr{Dir: tr.dir, Env: tr.env, Files: files,
		Sys: &syscall.SysProcAttr{Ptrace: true, Setsid: true}})
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	p.Release()
	return pid, nil
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL

func (tr *tracer) loop() (res traced) {
	pid, err := tr.start()
	if err != nil {
		return traced{err: err}
	}
	var ws syscall.WaitStatus
	if _, err := wait4(pid, &ws); err != nil {
		return traced{err: err}
	}
	if err := syscall.PtraceSetOptions(pid, traceOptions); err != nil {
		syscall.Kill(pid, syscall.SIGKILL)
		return traced{err: err}
	}
	seen := map[int]bool{pid: true}
	resume(pid, 0)
	for {
		tid, err := wait4(-pid, &ws) // its process group: nobody else's children
		if err != nil {
			res.err = err
			return res
		}
		switch {
		case ws.Exited() || ws.Signaled():
			if tid != pid {
				continue
			}
			res.exit = -1
			if ws.Exited() {
				res.exit = ws.ExitStatus()
			}
			return res
		case !ws.Stopped():
			continue
		}
		sig := ws.StopSignal()
		switch {
		case sig == syscall.SIGTRAP|0x80:
			if !res.killed && tr.entering(pid, tid, &res) {
				res.killed = true
				syscall.Kill(pid, syscall.SIGKILL)
				continue
			}
			sig = 0
		case sig == syscall.SIGTRAP: // a thread was born, or exec
			sig = 0
		case sig == syscall.SIGSTOP && !seen[tid]:
			sig = 0
		}
		seen[tid] = true
		resume(tid, sig)
	}
}

func resume(tid int, sig syscall.Signal) { syscall.PtraceSyscall(tid, int(sig)) } // gone meanwhile: wait tells

func wait4(pid int, ws *syscall.WaitStatus) (int, error) {
	for {
		got, err := syscall.Wait4(pid, ws, unix.WALL, nil)
		if err != syscall.EINTR {
			return got, err
		}
	}
}

// syscallInfo is struct ptrace_syscall_info, as far as it is the same for every
// kind of stop.
type syscallInfo struct {
	Op   uint8
	_    [3]uint8
	Arch uint32
	IP   uint64
	SP   uint64
	NR   uint64
	Args [6]uint64
	_    [4]uint64
}

const (
	getSyscallInfo = 0x420e
	opEntry        = 1
)

// entering counts a call that touches the roots, and asks whether to kill.
func (tr *tracer) entering(pid, tid int, res *traced) bool {
	var info syscallInfo
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 || info.Op != opEntry {
		return false
	}
	call, ok := tr.touches(pid, &info)
	if !ok {
		return false
	}
	res.calls++
	return tr.at(res.calls, call)
}

// touches describes a call on a file or directory below the roots.
func (tr *tracer) touches(pid int, info *syscallInfo) (string, bool) {
	c, known := calls[int(info.NR)]
	if !known {
		return "", false
	}
	var where []string
	hit := false
	for _, a := range c.args {
		path := fdPath(pid, int32(info.Args[a.fd]))
		if a.name >= 0 {
			name := readString(pid, info.Args[a.name])
			if !filepath.IsAbs(name) {
				name = filepath.Join(path, name)
			}
			path = name
		}
		for _, root := range tr.roots {
			if path == root || strings.HasPrefix(path, root+"/") {
				hit, path = true, strings.TrimPrefix(path, filepath.Dir(root)+"/")
				break
			}
		}
		where = append(where, path)
	}
	return c.name + " " + strings.Join(where, " "), hit
}

func fdPath(pid int, fd int32) string {
	link := fmt.Sprintf("/proc/%d/fd/%d", pid, fd)
	if fd == unix.AT_FDCWD {
		link = fmt.Sprintf("/proc/%d/cwd", pid)
	}
	path, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

func readString(pid int, addr uint64) string {
	buf := make([]byte, 1024)
	local := unix.Iovec{Base: &buf[0]}
	// Never across a page that may not be there.
	n := min(len(buf), 4096-int(addr%4096))
	text := []byte(nil)
	for range 2 {
		local.SetLen(n)
		got, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(addr), Len: n}}, 0)
		if err != nil {
			break
		}
		if i := bytes.IndexByte(buf[:got], 0); i >= 0 {
			return string(append(text, buf[:i]...))
		}
		text, addr, n = append(text, buf[:got]...), addr+uint64(got), len(buf)
	}
	return string(text)
}

// arg says which arguments of a call name a file: a descriptor alone, or one
// and a path.
type arg struct{ fd, name int }

type call struct {
	name string
	args []arg
}

var (
	onFD   = []arg{{0, -1}}
	onPath = []arg{{0, 1}}
	onTwo  = []arg{{0, 1}, {2, 3}}
)

// calls are the system calls that read, write or lock files. All that Go makes
// on Linux are the ones that take a directory's descriptor.
var calls = map[int]call{
	unix.SYS_OPENAT: {"openat", onPath}, unix.SYS_OPENAT2: {"openat2", onPath},
	unix.SYS_LINKAT: {"linkat", onTwo}, unix.SYS_RENAMEAT2: {"renameat2", onTwo}, unix.SYS_RENAMEAT: {"renameat", onTwo},
	unix.SYS_UNLINKAT: {"unlinkat", onPath}, unix.SYS_MKDIRAT: {"mkdirat", onPath},
	unix.SYS_WRITE: {"write", onFD}, unix.SYS_PWRITE64: {"pwrite64", onFD}, unix.SYS_FTRUNCATE: {"ftruncate", onFD},
	unix.SYS_FSYNC: {"fsync", onFD}, unix.SYS_FDATASYNC: {"fdatasync", onFD}, unix.SYS_FLOCK: {"flock", onFD},
	unix.SYS_FCHMOD: {"fchmod", onFD}, unix.SYS_FCHMODAT: {"fchmodat", onPath}, unix.SYS_UTIMENSAT: {"utimensat", onPath},
}
