package roster

import (
	"context"
	"time"
)

// Status is a record compared with the processes there are.
type Status struct {
	Record
	// Alive: what was started runs.
	Alive bool
	// Ended says how it ended, where it did; "" is unknown.
	Ended string
}

// startLimit is how long a start that has not reported counts as under way.
const startLimit = 10 * time.Second

// UnderWay reports whether somebody is starting it right now.
func (st Status) UnderWay(now time.Time) bool {
	age := now.Sub(st.At)
	return st.State == Starting && age >= 0 && age < startLimit
}

// PID is the agent's own process, 0 if none was recorded.
func (st Status) PID() int {
	switch {
	case st.Program != nil:
		return st.Program.PID
	case st.Leader != nil:
		return st.Leader.PID
	}
	return 0
}

// Status says what became of an agent that was started here; false if it never
// was.
func (s *Store) Status(ctx context.Context, aid string) (Status, bool, error) {
	r, ok, err := s.Load(aid)
	if !ok || err != nil {
		return Status{}, false, err
	}
	return s.compare(ctx, r), true, nil
}

func (s *Store) compare(ctx context.Context, r Record) Status {
	st := Status{Record: r, Ended: r.Why}
	if r.State != Running && r.State != Stopping {
		return st
	}
	if st.Alive = s.alive(r.Leader) || s.alive(r.Program); st.Alive {
		return st
	}
	st.State = Ended
	if r.Pane != nil && r.Leader != nil {
		st.Ended = r.Pane.exit(ctx, r.Leader.PID)
	}
	return st
}

// alive reports whether exactly this process runs.
func (s *Store) alive(p *Proc) bool {
	if p == nil || s.Procs == nil || p.Boot != boot() {
		return false
	}
	now, ok := s.Procs.Process(p.PID)
	return ok && now.Start == p.Start
}

// proc describes a process that runs now.
func (s *Store) proc(pid int) *Proc {
	p := &Proc{PID: pid, Boot: boot()}
	if s.Procs != nil {
		now, _ := s.Procs.Process(pid)
		p.Start = now.Start
	}
	return p
}
