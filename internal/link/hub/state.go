package hub

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/postroom/postroom/internal/link/natslink"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

const (
	lockFile    = "lock"
	runningFile = "running.json"
)

// state is the hub's directory, held by one process at a time.
type state struct {
	mu     sync.Mutex
	fsys   *vfs.Real
	lock   vfs.File
	keys   *keys
	ledger *ledger
}

// errRuns: another process holds the directory.
var errRuns = errors.New("a hub runs on this directory already")

// openState takes the directory. An error wraps errRuns if a hub has it.
func openState(dir, team string, now time.Time) (*state, error) {
	fsys, err := openReal(dir)
	if err != nil {
		return nil, err
	}
	s := &state{fsys: fsys}
	if err := s.take(); err != nil {
		s.close()
		return nil, err
	}
	if err := s.read(team, now); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *state) take() error {
	f, err := s.fsys.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return &mail.Error{Op: "open the hub's directory", Kind: mail.KindStore, Addr: s.fsys.Path(lockFile), Err: err, Hint: "set its permissions right"}
	}
	s.lock = f
	switch ok, err := f.TryLock(); {
	case err != nil:
		return &mail.Error{Op: "open the hub's directory", Kind: mail.KindStore, Addr: s.fsys.Path(lockFile), Err: err, Hint: "keep it on a local disk"}
	case !ok:
		return &mail.Error{Op: "start the hub", Kind: mail.KindConflict, Addr: s.fsys.Path(""), Err: errRuns, Hint: `run "post hub status"`}
	}
	return nil
}

func (s *state) read(team string, now time.Time) (err error) {
	if s.keys, err = readKeys(s.fsys, now); err != nil {
		return err
	}
	if s.ledger, err = readLedger(s.fsys); err != nil {
		return err
	}
	switch has := s.ledger.Team; {
	case has == "" && team == "":
		s.ledger.Team = DefaultTeam
	case has == "":
		if _, err := mail.ParseStation(team); err != nil {
			return err
		}
		s.ledger.Team = team
	case team != "" && team != has:
		return &mail.Error{Op: "start the hub", Kind: mail.KindConflict, Addr: s.fsys.Path(ledgerFile), Err: errors.New("is the hub of team " + has),
			Hint: "leave out --team, or give another --dir for another team"}
	}
	return nil
}

func (s *state) team() natslink.Team { return natslink.Team(s.ledger.Team) }

func (s *state) save() error { return save(s.fsys, ledgerFile, s.ledger) }

// line makes one join line and remembers its invitation.
func (s *state) line(now time.Time, good time.Duration) (Line, error) {
	if len(s.ledger.Addrs) == 0 {
		return Line{}, &mail.Error{Op: "invite", Kind: mail.KindNotFound, Addr: s.fsys.Path(""), Err: errors.New("the hub has never run, so it has no address"), Hint: `run "post hub" first`}
	}
	if good <= 0 {
		good = DefaultExpiry
	}
	pin, err := s.keys.pin()
	if err != nil {
		return Line{}, err
	}
	secret := s.ledger.invite(now, good)
	return Line{Addrs: s.ledger.Addrs, Pin: pin, Team: s.team(), Invite: secret}, s.save()
}

// running is what commands beside the hub find it by.
type running struct {
	V    int    `json:"v"`
	PID  int    `json:"pid"`
	Addr string `json:"addr"`
}

func (s *state) announce(addr string) error {
	return save(s.fsys, runningFile, running{1, os.Getpid(), addr})
}

func readRunning(fsys vfs.FS) (running, error) {
	var r running
	data, _, err := spool.ReadFile(fsys, runningFile, 1<<16)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

func (s *state) close() error {
	if s.lock != nil {
		if s.ledger != nil {
			s.fsys.Remove(runningFile)
		}
		s.lock.Close()
	}
	return s.fsys.Close()
}
