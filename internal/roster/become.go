//go:build unix

package roster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Become is the process that was started: it records itself and then is the
// agent, or, where no terminal keeps the output, the keeper of its log. It
// returns only if the agent could not be started or, for a keeper, has ended.
func (s *Store) Become(ctx context.Context, aid, token string, here []string) error {
	held, err := s.lock(ctx, aid) // whoever starts us has it until everything is written
	if err != nil {
		return err
	}
	defer held.Close()
	r, ok, err := s.Load(aid)
	if err != nil {
		return err
	}
	var sp spec
	there, err := s.read(aid, specExt, &sp)
	if err != nil || !ok || !there || r.Token != token || sp.Token != token || r.State != Starting {
		return errors.Join(err, &mail.Error{Op: "start", Kind: mail.KindConflict, Addr: aid, Err: errors.New("this start was called off")})
	}
	if err := s.remove(aid, specExt); err != nil {
		return err
	}
	r.State, r.At, r.Leader = Running, s.Now().UTC(), s.proc(os.Getpid())
	if r.How == InTmux && r.Pane == nil { // whoever made the window died before it said which
		socket, _, _ := strings.Cut(value(here, "TMUX"), ",")
		r.Pane = server{socket: socket}.pane(ctx, value(here, "TMUX_PANE"))
	}
	if r.How == Detached {
		return s.keep(r, sp, held)
	}
	if err := s.save(r); err != nil {
		return err
	}
	return s.fail(r, execAgent(sp, here))
}

// fail records that the program could not be started.
func (s *Store) fail(r Record, err error) error {
	r.State, r.Why, r.At = Failed, r.Argv[0]+": "+err.Error(), s.Now().UTC()
	return errors.Join(startError(r.Agent, err), s.save(r))
}

// execAgent replaces this process by the agent's.
func execAgent(sp spec, here []string) error {
	if err := os.Chdir(sp.Dir); err != nil {
		return err
	}
	return syscall.Exec(sp.Path, sp.Argv, inTerminal(sp.Env, here))
}

// keep runs the agent in this process's session, records both, keeps the output,
// and records how it ended. held is released as soon as it runs. If this process
// is killed before the record stands, the agent ends with it.
func (s *Store) keep(r Record, sp spec, held io.Closer) error {
	// What stops the group must leave time to record how the agent ended. Signals
	// that were ignored would be so in the program, too; these are taken and dropped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	runtime.LockOSThread() // dieWithUs is about the thread
	log, err := openLog(s.Path(r.AID, logExt), maxLog)
	if err != nil {
		return s.fail(r, err)
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s: started: %s\n", stamp(r.At), strings.Join(sp.Argv, " "))
	cmd := &exec.Cmd{Path: sp.Path, Args: sp.Argv, Env: sp.Env, Dir: sp.Dir, Stdout: log, Stderr: log, WaitDelay: 2 * time.Second}
	dieWithUs(cmd)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(log, "--- %s: %v\n", stamp(s.Now()), err)
		return s.fail(r, err)
	}
	r.Program = s.proc(cmd.Process.Pid)
	if err := s.save(r); err != nil { // nothing of ours runs unrecorded
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	held.Close()
	_ = cmd.Wait() // how it ended is in ProcessState
	ended := cmd.ProcessState.String()
	fmt.Fprintf(log, "--- %s: ended: %s\n", stamp(s.Now()), ended)
	return s.ended(r, ended)
}
