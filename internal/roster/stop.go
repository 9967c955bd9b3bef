package roster

import (
	"context"
	"errors"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Grace is how long a program may take to end when it is asked to.
const Grace = 10 * time.Second

const (
	stopPoll = 20 * time.Millisecond
	// killLimit is how long the system may take to end what was killed.
	killLimit = 5 * time.Second
)

// Stopper stops what was started here, and nothing else.
type Stopper struct {
	*Store
	Tmux  string // the path of tmux; "" if there is none
	Grace time.Duration
}

// ErrNotOurs is the cause when an agent was never started here.
var ErrNotOurs = errors.New("it was not started by post up or post start, so it is not stopped")

// Stop ends an agent: SIGTERM to its processes, SIGKILL after the grace. Returns
// how it stands and whether it ran. An agent that was never started here is
// refused with ErrNotOurs; whoever ended already is left alone.
func (s *Stopper) Stop(ctx context.Context, name, aid string) (st Status, ran bool, err error) {
	held, err := s.lock(ctx, aid)
	if err != nil {
		return Status{}, false, err
	}
	defer held.Close()
	st, ok, err := s.Status(ctx, aid)
	switch {
	case err != nil:
		return st, false, err
	case !ok:
		return st, false, &mail.Error{Op: "stop", Kind: mail.KindConflict, Addr: name, Err: ErrNotOurs,
			Hint: "end it in the terminal where it runs"}
	case st.State == Starting: // its process waits for the lock, and then finds its start called off
		return st, false, errors.Join(s.remove(aid, specExt), s.finish(ctx, &st, "called off before it ran"))
	case !st.Alive && st.How == Worker && st.State != Stopped: // its keeper would start it again
		return st, false, s.finish(ctx, &st, "it did not run")
	case !st.Alive:
		return st, false, nil
	}
	how, err := s.end(ctx, name, &st)
	if err != nil {
		return st, true, err
	}
	return st, true, s.finish(ctx, &st, how)
}

func (s *Stopper) finish(ctx context.Context, st *Status, how string) error {
	if st.Pane != nil && st.Leader != nil {
		st.Pane.close(ctx, s.Tmux, st.Leader.PID)
	}
	st.State, st.Why, st.At, st.Alive, st.Ended = Stopped, how, s.Now().UTC(), false, how
	return s.save(st.Record)
}

// end ends the processes and says how.
func (s *Stopper) end(ctx context.Context, name string, st *Status) (string, error) {
	st.State = Stopping // so that the keeper leaves the record to us
	if err := s.save(st.Record); err != nil {
		return "", err
	}
	leader := st.Leader
	if !s.alive(leader) { // the keeper is gone, the agent is not
		leader = st.Program
	}
	procs := append(s.session(leader), *leader)
	if err := terminate(s.living(procs)); err != nil {
		return "", &mail.Error{Op: "stop", Kind: mail.KindStore, Addr: name, Err: err, Hint: "end it in the terminal where it runs"}
	}
	if s.gone(ctx, procs, s.Grace) {
		return "ended when asked to", nil
	}
	procs = append(procs, s.session(leader)...) // what it started meanwhile
	if err := kill(s.living(procs)); err != nil {
		return "", &mail.Error{Op: "stop", Kind: mail.KindStore, Addr: name, Err: err, Hint: "run the command again"}
	}
	if !s.gone(context.WithoutCancel(ctx), procs, killLimit) {
		return "", &mail.Error{Op: "stop", Kind: mail.KindStore, Addr: name,
			Err: errors.New("process " + pidText(leader.PID) + " was killed and does not end"), Hint: "run the command again"}
	}
	return "killed, as it did not end within " + s.Grace.String(), nil
}

// session lists the processes of the session that one leads, itself not. While
// it lives, nobody else's session can have its number.
func (s *Stopper) session(leader *Proc) []Proc {
	var out []Proc
	if !s.alive(leader) {
		return nil
	}
	for _, pid := range sessionOf(leader.PID) {
		if pid != leader.PID {
			out = append(out, *s.proc(pid))
		}
	}
	return out
}

// living are the pids that still are the processes they were.
func (s *Stopper) living(procs []Proc) []int {
	var pids []int
	for i := range procs {
		if s.alive(&procs[i]) {
			pids = append(pids, procs[i].PID)
		}
	}
	return pids
}

// gone waits until none of the processes lives.
func (s *Stopper) gone(ctx context.Context, procs []Proc, limit time.Duration) bool {
	for waited := time.Duration(0); ; waited += stopPoll {
		if len(s.living(procs)) == 0 {
			return true
		}
		if waited >= limit || pause(ctx, stopPoll) != nil {
			return false
		}
	}
}
