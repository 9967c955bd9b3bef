package roster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Keeper starts workers: agents' programs that live as children of a process
// which talks to them over their standard input and output. The same record and
// lock as of every other start keep two keepers from starting one agent twice.
type Keeper struct {
	*Store
	Environ []string // the keeper's
	Extra   []string // more of the environment of a worker
	Grace   time.Duration
}

// Why a worker was not started though nothing is broken.
var (
	ErrStopped   = errors.New("it was stopped by post stop")
	ErrElsewhere = errors.New("it runs already, and not as a worker of this process")
)

// keeperName is the file that says who keeps the office's workers.
const keeperName, keeperExt = "keeper", ".proc"

// KeeperRecord is the process that keeps an office's workers, and where it can
// be asked to wake one.
type KeeperRecord struct {
	Proc
	Door string `json:"door,omitempty"` // the path of a socket
}

// KeptBy returns the process that keeps the workers now; false if none does.
func (s *Store) KeptBy() (KeeperRecord, bool) {
	var r KeeperRecord
	ok, err := s.read(keeperName, keeperExt, &r)
	return r, ok && err == nil && s.alive(&r.Proc)
}

// Sign says that this process keeps the workers, unless another one does.
func (s *Store) Sign(door string) (signed bool, err error) {
	if r, ok := s.KeptBy(); ok && (r.PID != os.Getpid() || r.Door != door) {
		return false, nil
	}
	return true, s.write(keeperName, keeperExt, KeeperRecord{*s.proc(os.Getpid()), door})
}

// Resign takes Sign back.
func (s *Store) Resign(door string) error {
	if r, ok := s.KeptBy(); ok && (r.PID != os.Getpid() || r.Door != door) {
		return nil
	}
	return s.remove(keeperName, keeperExt)
}

// Memory is what a keeper remembers of a worker from one run to the next.
type Memory struct {
	V       int       `json:"v"`
	Session string    `json:"session,omitempty"` // the last one, of Argv in Dir
	Argv    []string  `json:"argv,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Crashes int       `json:"crashes,omitempty"` // in a row, without a turn that ended well
	Why     string    `json:"why,omitempty"`     // of the last one
	At      time.Time `json:"at,omitzero"`       // of the last one
	Lost    string    `json:"lost,omitempty"`    // why Session could not be gone on with
	Cut     bool      `json:"cut,omitempty"`     // it ended in the middle of a turn
}

// Remembered reads a worker's memory. One that is missing or torn is empty: it
// is a hint.
func (s *Store) Remembered(aid string) Memory {
	var m Memory
	if ok, err := s.read(aid, memoryExt, &m); !ok || err != nil || m.V != version {
		return Memory{}
	}
	return m
}

// Remember replaces a worker's memory.
func (s *Store) Remember(aid string, m Memory) error {
	m.V = version
	if err := check(aid); err != nil {
		return err
	}
	return s.write(aid, memoryExt, m)
}

// Forbid has a worker that was never started not be started, until post start.
func (s *Store) Forbid(ctx context.Context, a Agent) (Status, error) {
	held, err := s.lock(ctx, a.AID)
	if err != nil {
		return Status{}, err
	}
	defer held.Close()
	if st, ok, err := s.Status(ctx, a.AID); ok || err != nil { // somebody was first
		return st, err
	}
	r := Record{Agent: a.Name, AID: a.AID, Office: a.Office, Token: newToken(), State: Stopped, At: s.Now().UTC(),
		How: Worker, Argv: a.Launch, Dir: a.Workspace, Why: "it did not run"}
	return Status{Record: r, Ended: r.Why}, s.save(r)
}

// Start starts a worker. It is not started while it was stopped (ErrStopped),
// nor if it runs (ErrElsewhere); one whose keeper is gone is ended first, and an
// error then names neither. What cannot be started is recorded so.
func (k *Keeper) Start(ctx context.Context, a Agent) (*Child, error) {
	held, err := k.lock(ctx, a.AID)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	was, known, err := k.Load(a.AID)
	if err != nil {
		return nil, err
	}
	st := k.compare(ctx, was)
	switch {
	case !known:
	case was.State == Stopped || was.State == Stopping:
		return nil, ErrStopped
	case st.Alive && (st.How != Worker || k.alive(st.Keeper)), st.How != Worker && st.UnderWay(k.Now()):
		return nil, fmt.Errorf("%w (%s, process %s)", ErrElsewhere, st.How, pidText(st.PID()))
	case st.Alive:
		if _, err := (&Stopper{Store: k.Store, Grace: k.Grace}).end(ctx, a.Name, &st); err != nil {
			return nil, err
		}
	}
	r := Record{Agent: a.Name, AID: a.AID, Office: a.Office, Token: newToken(), State: Starting, At: k.Now().UTC(),
		How: Worker, Argv: a.Launch, Dir: a.Workspace, Keeper: k.proc(os.Getpid())}
	if known && st.State == Starting && st.How == Worker {
		r.Token = st.Token // somebody waits for it
	}
	c, err := k.spawn(a, r)
	if err != nil {
		r.State, r.Why = Failed, err.Error()
		return nil, errors.Join(err, k.save(r))
	}
	return c, nil
}
