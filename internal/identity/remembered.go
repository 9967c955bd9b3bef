package identity

import "sync"

// Remembered looks each process and the terminal up once: who is above a
// command that begins now is asked several times. It is not for watching
// whether a process lives on.
func Remembered(procs ProcessTree) ProcessTree {
	r := &remembered{ProcessTree: procs, seen: map[int]found{}}
	r.terminal = sync.OnceValues(procs.Terminal)
	if c, ok := procs.(Census); ok {
		return rememberedCensus{r, c}
	}
	return r
}

type remembered struct {
	ProcessTree
	terminal func() (Terminal, bool)

	mu   sync.Mutex
	seen map[int]found
}

type rememberedCensus struct {
	*remembered
	Census
}

type found struct {
	Process
	ok bool
}

func (r *remembered) Process(pid int) (Process, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.seen[pid]
	if !known {
		f.Process, f.ok = r.ProcessTree.Process(pid)
		r.seen[pid] = f
	}
	return f.Process, f.ok
}

// Parent implements Starter.
func (r *remembered) Parent() int {
	if s, ok := r.ProcessTree.(Starter); ok {
		return s.Parent()
	}
	p, _ := r.Process(r.Self())
	return p.PPID
}

func (r *remembered) Terminal() (Terminal, bool) { return r.terminal() }
