package roster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// State is what the record says of an agent.
type State string

// The states of a record. That of a running one has to be compared with the
// processes there are: see Status.
const (
	Starting State = "starting" // its process has not reported yet
	Running  State = "running"
	Stopping State = "stopping"
	Ended    State = "ended"   // by itself
	Stopped  State = "stopped" // by post stop
	Failed   State = "failed"  // it could not be started
)

// The ways in which an agent runs.
const (
	InTmux   = "tmux"
	Detached = "detached"
	Worker   = "worker" // a Keeper talks to it over its standard input and output
)

// Proc is a process that can't be taken for another one.
type Proc struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // as identity.Process has it
	Boot  string `json:"boot,omitempty"`
}

// Pane is where an agent runs in tmux.
type Pane struct {
	Socket  string `json:"socket"`
	Session string `json:"session"`
	Window  string `json:"window"` // "@3"
	Pane    string `json:"pane"`   // "%5"
}

// Record is what is known of an agent that was started here.
type Record struct {
	V      int       `json:"v"`
	Agent  string    `json:"agent"`
	AID    string    `json:"aid"`
	Office string    `json:"office"`
	Token  string    `json:"token"` // of this start
	State  State     `json:"state"`
	At     time.Time `json:"at"` // since when
	How    string    `json:"how"`
	Argv   []string  `json:"argv"`
	Dir    string    `json:"dir"`
	// Leader is the process whose group is stopped: the agent, or where it runs
	// detached the process of ours that keeps its log. Nil before it reported.
	Leader  *Proc  `json:"leader,omitempty"`
	Program *Proc  `json:"program,omitempty"` // detached: the agent
	Keeper  *Proc  `json:"keeper,omitempty"`  // of a worker: the process that talks to it
	Pane    *Pane  `json:"pane,omitempty"`
	Why     string `json:"why,omitempty"` // how it ended, why it failed
}

// version is the V that this package writes and understands.
const version = 1

// maxRecord bounds the files that are read, in bytes. An environment may be
// large.
const maxRecord = 4 << 20

const (
	// lockPoll is how long to sleep between tries for an agent's lock.
	lockPoll = 10 * time.Millisecond
	// lockPatience is how long to try: longer than a stop takes.
	lockPatience = 20 * time.Second
)

// Store keeps the records of one office's agents, in a directory of the user's
// state.
type Store struct {
	FS vfs.FS
	// Procs looks processes up; nil on a system that can't.
	Procs identity.ProcessTree
	Now   func() time.Time
}

// Open opens, or makes, the directory.
func Open(dir string, procs identity.ProcessTree, now func() time.Time) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, storeError("open roster", dir, err)
	}
	fsys, err := vfs.OpenReal(dir)
	if err != nil {
		return nil, storeError("open roster", dir, err)
	}
	return &Store{FS: fsys, Procs: procs, Now: now}, nil
}

// Look is Open for whoever only looks: it makes nothing. fs.ErrNotExist is the
// cause where nothing was ever started.
func Look(dir string, procs identity.ProcessTree, now func() time.Time) (*Store, error) {
	fsys, err := vfs.OpenReal(dir)
	if err != nil {
		return nil, storeError("open roster", dir, err)
	}
	return &Store{FS: fsys, Procs: procs, Now: now}, nil
}

func storeError(op, path string, err error) error {
	return &mail.Error{Op: op, Kind: mail.KindStore, Addr: path, Err: err,
		Hint: "set XDG_STATE_HOME to a directory you can write"}
}

// Path is the absolute path of one of an agent's files.
func (s *Store) Path(aid, ext string) string { return s.FS.Path(aid + ext) }

// The files of one agent.
const (
	recordExt = ".json"
	specExt   = ".spec" // what is to be started, until its process takes it
	lockExt   = ".lock" // never removed
	logExt    = ".log"
	memoryExt = ".worker" // what a keeper remembers of a worker
)

// check keeps what is no agent's id from becoming a path.
func check(aid string) error {
	if _, err := mail.ParseName(aid); err != nil {
		return &mail.Error{Op: "look into roster", Kind: mail.KindInvalid, Addr: aid, Err: errors.New("not an agent's id")}
	}
	return nil
}

// lock takes the agent's lock; Close releases it.
func (s *Store) lock(ctx context.Context, aid string) (io.Closer, error) {
	if err := check(aid); err != nil {
		return nil, err
	}
	f, err := s.FS.OpenFile(aid+lockExt, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storeError("lock roster", s.Path(aid, lockExt), err)
	}
	for waited := time.Duration(0); ; waited += lockPoll {
		ok, err := f.TryLock()
		switch {
		case ok:
			return f, nil
		case err != nil:
			f.Close()
			return nil, storeError("lock roster", s.Path(aid, lockExt), err)
		case waited >= lockPatience:
			f.Close()
			return nil, &mail.Error{Op: "lock roster", Kind: mail.KindBusy, Addr: s.Path(aid, lockExt),
				Err: errors.New("another process has been starting or stopping it for " + lockPatience.String()), Hint: "run the command again"}
		}
		if err := pause(ctx, lockPoll); err != nil {
			f.Close()
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Load reads what is known of an agent; false if it was never started here. A
// torn record is an error: what it names may run.
func (s *Store) Load(aid string) (Record, bool, error) {
	var r Record
	ok, err := s.read(aid, recordExt, &r)
	if err == nil && ok && r.V != version {
		err = &mail.Error{Op: "read roster", Kind: mail.KindCorrupt, Addr: s.Path(aid, recordExt), Err: errors.New("not a record of this version"),
			Hint: "use the post that started it, or stop it by hand and remove the file"}
	}
	return r, ok && err == nil, err
}

func (s *Store) read(aid, ext string, v any) (bool, error) {
	if err := check(aid); err != nil {
		return false, err
	}
	f, err := s.FS.OpenFile(aid+ext, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storeError("read roster", s.Path(aid, ext), err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return false, storeError("read roster", s.Path(aid, ext), err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, &mail.Error{Op: "read roster", Kind: mail.KindCorrupt, Addr: s.Path(aid, ext), Err: err,
			Hint: "stop by hand what it started, then remove the file"}
	}
	return true, nil
}

// save replaces the record; the caller holds the lock.
func (s *Store) save(r Record) error {
	r.V = version
	return s.write(r.AID, recordExt, r)
}

func (s *Store) write(aid, ext string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp := ".tmp-" + aid + ext
	f, err := s.FS.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return storeError("write roster", s.Path(aid, ext), err)
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.FS.Rename(tmp, aid+ext)
	}
	if err != nil {
		return storeError("write roster", s.Path(aid, ext), err)
	}
	return nil
}

func (s *Store) remove(aid, ext string) error {
	if err := s.FS.Remove(aid + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storeError("write roster", s.Path(aid, ext), err)
	}
	return nil
}

// ended records how the agent ended, unless somebody is stopping it: that
// process holds the lock and waits for this one.
func (s *Store) ended(r Record, how string) error {
	f, err := s.FS.OpenFile(r.AID+lockExt, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for range 200 {
		locked, err := f.TryLock()
		if err != nil {
			return err
		}
		now, ok, err := s.Load(r.AID)
		if err != nil || !ok || now.Token != r.Token || now.State != Running {
			return err
		}
		if locked {
			now.State, now.Why, now.At = Ended, how, s.Now().UTC()
			return s.save(now)
		}
		time.Sleep(lockPoll)
	}
	return nil // that the process is gone is seen without the record
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
