package identity

import "sync"

// Remembered looks each process and the terminal up once: who is above a
// command that begins now is asked several times. It is not for watching
// whether a process lives on.
func Remembered(procs ProcessTree) ProcessTree {
	r := &remembered{ProcessTree: procs, seen: make([]found, 0, 16)}
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
	seen []found // a dozen: no table is needed to find one
}

type rememberedCensus struct {
	*remembered
	Census
}

type found struct {
	pid int
	Process
	ok bool
}

func (r *remembered) Process(pid int) (Process, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.seen {
		if f := &r.seen[i]; f.pid == pid {
			return f.Process, f.ok
		}
	}
	p, ok := r.ProcessTree.Process(pid)
	r.seen = append(r.seen, found{pid, p, ok})
	return p, ok
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
