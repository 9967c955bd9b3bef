package identity

import "iter"

// Process is what is known of a running process. Empty fields are unknown.
type Process struct {
	PID, PPID int
	Name      string   // of the program, without a path
	Args      []string // the command line
	Start     string   // when it started, in any unit; tells a reused pid apart
}

// Terminal is a controlling terminal.
type Terminal struct {
	Device string // tty device number or name
	Leader int    // pid of the session leader
	Start  string // when the leader started
}

// ProcessTree answers who runs us. A system that cannot tell answers false.
type ProcessTree interface {
	Self() int
	Process(pid int) (Process, bool)
	Terminal() (Terminal, bool)
}

// Starter is a ProcessTree that knows at once who started this process.
type Starter interface {
	// Parent is the pid of the process that started this one.
	Parent() int
}

// maxParents bounds the walk up the tree; a loop in it cannot be.
const maxParents = 64

// Parents yields the processes above this one, the nearest first. Each is
// looked up only when it is asked for.
func Parents(procs ProcessTree) iter.Seq[Process] {
	return func(yield func(Process) bool) {
		if procs == nil {
			return
		}
		p, ok := self(procs)
		for range maxParents {
			if !ok || p.PPID <= 0 {
				return
			}
			if p, ok = procs.Process(p.PPID); ok && !yield(p) {
				return
			}
		}
	}
}

// self is this process, as far as it takes to go on from there.
func self(procs ProcessTree) (Process, bool) {
	if s, ok := procs.(Starter); ok {
		return Process{PID: procs.Self(), PPID: s.Parent()}, true
	}
	return procs.Process(procs.Self())
}
