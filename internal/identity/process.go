package identity

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

// maxParents bounds the walk up the tree; a loop in it cannot be.
const maxParents = 64

// Parents yields the processes above this one, the nearest first.
func Parents(procs ProcessTree) []Process {
	if procs == nil {
		return nil
	}
	self, ok := procs.Process(procs.Self())
	var list []Process
	for pid := self.PPID; ok && pid > 0 && len(list) < maxParents; {
		var p Process
		if p, ok = procs.Process(pid); ok {
			list = append(list, p)
			pid = p.PPID
		}
	}
	return list
}
