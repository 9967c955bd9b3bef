package roster

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

// Starter starts agents.
type Starter struct {
	*Store
	// Self is the path of this program; Entry what it is to be given so that it
	// calls Become with the store's directory, the agent's id and the token that
	// follow.
	Self    string
	Entry   []string
	Environ []string // the user's
	Tmux    string   // the path of tmux; "" runs agents detached
}

// Started is what became of a start.
type Started struct {
	Status
	Already bool // it ran before
}

const (
	// reportLimit is how long the new process may take to report.
	reportLimit = 8 * time.Second
	reportPoll  = 10 * time.Millisecond
)

// Start starts an agent, unless it runs or is being started, and returns when
// its process has recorded itself. Errors are of KindNotFound if it can't be
// started as it is registered.
func (s *Starter) Start(ctx context.Context, a Agent) (Started, error) {
	token, known, err := s.begin(ctx, a)
	if err != nil || known != nil && known.Alive {
		if known != nil {
			return Started{*known, true}, err
		}
		return Started{}, err
	}
	st, err := s.reported(ctx, a, token)
	return Started{st, known != nil}, err
}

// begin starts the process under the agent's lock. known is set if somebody
// else was first; then token is theirs.
func (s *Starter) begin(ctx context.Context, a Agent) (token string, known *Status, err error) {
	held, err := s.lock(ctx, a.AID)
	if err != nil {
		return "", nil, err
	}
	defer held.Close()
	old, ok, err := s.Status(ctx, a.AID)
	if err != nil {
		return "", nil, err
	}
	if ok && (old.Alive || old.UnderWay(s.Now())) {
		return old.Token, &old, nil
	}
	sp, err := prepare(a, s.Environ)
	if err != nil {
		return "", nil, err
	}
	if a.Worker {
		r := Record{Agent: a.Name, AID: a.AID, Office: a.Office, Token: newToken(), State: Starting, At: s.Now().UTC(),
			How: Worker, Argv: a.Launch, Dir: a.Workspace}
		return r.Token, nil, s.save(r) // its keeper looks every moment
	}
	if ok && old.Pane != nil && old.Leader != nil {
		old.Pane.close(ctx, s.Tmux, old.Leader.PID) // the window of a run that ended
	}
	r := Record{Agent: a.Name, AID: a.AID, Office: a.Office, Token: newToken(), State: Starting, At: s.Now().UTC(),
		How: Detached, Argv: a.Launch, Dir: a.Workspace}
	if s.Tmux != "" {
		r.How = InTmux
	}
	sp.Token, sp.Env = r.Token, environment(s.Environ, a)
	if err := errors.Join(s.write(a.AID, specExt, sp), s.save(r)); err != nil {
		return "", nil, err
	}
	if err := s.spawn(ctx, a, &r); err != nil {
		r.State, r.Why, r.At = Failed, err.Error(), s.Now().UTC()
		return "", nil, errors.Join(startError(a.Name, err), s.remove(a.AID, specExt), s.save(r))
	}
	return r.Token, nil, s.save(r)
}

func startError(name string, err error) error {
	return &mail.Error{Op: "start", Kind: mail.KindStore, Addr: name, Err: err, Hint: `see "post logs ` + name + `"`}
}

// spawn starts the process that becomes the agent as soon as the lock is free.
func (s *Starter) spawn(ctx context.Context, a Agent, r *Record) error {
	argv := append(append([]string{s.Self}, s.Entry...), s.FS.Path("."), a.AID, r.Token)
	if s.Tmux != "" {
		srv := server{path: s.Tmux, env: clean(s.Environ)}
		pane, err := srv.newWindow(ctx, "postroom-"+a.OfficeID, a.Name, argv)
		r.Pane = pane
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = s.Environ, a.Workspace
	alone(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // while we run, it leaves no zombie
	return nil
}

// reported waits until the process has recorded itself or that failed.
func (s *Starter) reported(ctx context.Context, a Agent, token string) (Status, error) {
	for waited := time.Duration(0); ; waited += reportPoll {
		st, ok, err := s.Status(ctx, a.AID)
		switch {
		case err != nil:
			return st, err
		case !ok || st.Token != token:
			return st, startError(a.Name, errors.New("somebody else started or stopped it meanwhile"))
		case st.State == Failed:
			return st, startError(a.Name, errors.New(st.Why))
		case st.State != Starting:
			return st, nil
		case waited >= reportLimit:
			return st, startError(a.Name, errors.New("its process has not reported within "+reportLimit.String()))
		}
		if err := pause(ctx, reportPoll); err != nil {
			return st, err
		}
	}
}

// Settle watches agents that were started for a moment, and returns how those
// stand then: a program that ends at once was no start.
func (s *Starter) Settle(ctx context.Context, aids []string, d time.Duration) map[string]Status {
	out := map[string]Status{}
	for waited := time.Duration(0); ; waited += 5 * reportPoll {
		running := 0
		for _, aid := range aids {
			if st, ok, err := s.Status(ctx, aid); err == nil && ok {
				out[aid] = st
				if st.Alive {
					running++
				}
			}
		}
		if running == 0 || waited >= d || pause(ctx, 5*reportPoll) != nil {
			return out
		}
	}
}
