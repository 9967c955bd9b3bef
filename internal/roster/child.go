package roster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Child is a worker that runs, or has ended.
type Child struct {
	Proc
	In  io.WriteCloser
	Out io.ReadCloser
	// Log is the agent's log; what the worker writes to its standard error goes
	// there as it is. Writing never fails.
	Log io.Writer

	stop  *Stopper
	r     Record
	log   *keptLog
	errs  *os.File
	ended chan struct{}
	how   string
	left  []Proc // of its session, when it ended by itself
}

// spawn starts the program and records it; without a record nothing runs.
func (k *Keeper) spawn(a Agent, r Record) (*Child, error) {
	sp, err := prepare(a, k.Environ)
	if err != nil {
		return nil, err
	}
	log, err := openLog(k.Path(a.AID, logExt), maxLog)
	if err != nil {
		return nil, storeError("open log", k.Path(a.AID, logExt), err)
	}
	fmt.Fprintf(log, "--- %s: started: %s\n", stamp(k.Now()), strings.Join(sp.Argv, " "))
	c := &Child{Log: log, log: log, stop: &Stopper{Store: k.Store, Grace: k.Grace}, ended: make(chan struct{})}
	cmd := &exec.Cmd{Path: sp.Path, Args: sp.Argv, Env: append(environment(k.Environ, a), k.Extra...), Dir: sp.Dir}
	if err := c.start(cmd); err != nil {
		fmt.Fprintf(log, "--- %s: %v\n", stamp(k.Now()), err)
		return nil, errors.Join(startError(a.Name, err), log.Close())
	}
	c.Proc = *k.proc(cmd.Process.Pid)
	r.State, r.At, r.Leader, r.Program = Running, k.Now().UTC(), &c.Proc, &c.Proc
	if err := k.save(r); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait(), log.Close())
	}
	c.r = r
	go io.Copy(log, c.errs)
	go c.wait(cmd)
	return c, nil
}

// start gives the program pipes and starts it.
func (c *Child) start(cmd *exec.Cmd) error {
	in, ierr := cmd.StdinPipe()
	out, oerr := cmd.StdoutPipe()
	errs, theirs, perr := os.Pipe()
	if err := errors.Join(ierr, oerr, perr, kept(cmd)); err != nil {
		return err
	}
	defer theirs.Close()
	cmd.Stderr = theirs
	c.In, c.Out, c.errs = in, out, errs
	if err := cmd.Start(); err != nil {
		return errors.Join(err, errs.Close())
	}
	return nil
}

// wait notes how the worker ended, and what is left of its session.
func (c *Child) wait(cmd *exec.Cmd) {
	awaitExit(c.PID)
	for _, pid := range sessionOf(c.PID) {
		if pid != c.PID {
			c.left = append(c.left, *c.stop.proc(pid))
		}
	}
	if ps, err := cmd.Process.Wait(); err == nil {
		c.how = ps.String()
	} else {
		c.how = err.Error()
	}
	fmt.Fprintf(c.log, "--- %s: ended: %s\n", stamp(c.stop.Now()), c.how)
	close(c.ended)
}

// Ended is closed when the worker's process has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// How is how it ended, in words.
func (c *Child) How() string {
	select {
	case <-c.ended:
		return c.how
	default:
		return "its end was not seen"
	}
}

// End ends the worker and what is left of its session, and records why: its
// input is closed, its processes get SIGTERM, then SIGKILL, each after the grace.
// Whoever stops it by post stop writes the record himself.
func (c *Child) End(why string) error {
	c.In.Close()
	procs := append(c.stop.session(&c.Proc), c.Proc)
	for _, step := range []func([]int) error{nil, terminate, kill} {
		if step != nil {
			if err := step(c.stop.living(procs)); err != nil {
				return &mail.Error{Op: "stop", Kind: mail.KindStore, Addr: c.r.Agent, Err: err, Hint: "end process " + pidText(c.PID)}
			}
		}
		if procs = c.awaited(procs); procs == nil {
			break
		}
	}
	c.Out.Close()
	c.errs.Close()
	if procs != nil {
		return &mail.Error{Op: "stop", Kind: mail.KindStore, Addr: c.r.Agent,
			Err: errors.New("it was killed and does not end"), Hint: "end process " + pidText(procs[0].PID)}
	}
	return errors.Join(c.stop.ended(c.r, why), c.log.Close())
}

// awaited waits for the grace, and returns what lives then of the worker's
// session; nil if nothing does.
func (c *Child) awaited(procs []Proc) []Proc {
	ctx, cancel := context.WithTimeout(context.Background(), c.stop.Grace)
	defer cancel()
	select {
	case <-c.ended:
		procs = append(procs, c.left...)
	case <-ctx.Done():
		procs = append(procs, c.stop.session(&c.Proc)...) // what it started meanwhile
	}
	for ctx.Err() == nil && len(c.stop.living(procs)) > 0 {
		pause(ctx, stopPoll)
	}
	var living []Proc
	for _, p := range procs {
		if c.stop.alive(&p) {
			living = append(living, p)
		}
	}
	return living
}
