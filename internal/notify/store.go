package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Files of the arbiter, in the office: wake/<aid>.lock is flock'd by whoever
// wakes the agent, never removed; wake/<aid>.json holds the state while there
// is unread mail; wake/<aid>.more says that somebody found the lock taken.
const (
	dir      = "wake"
	lockExt  = ".lock"
	stateExt = ".json"
	moreExt  = ".more"

	maxState = 64 << 10 // bytes; two sets of MaxIDs ids are 17 KB
)

// store keeps wake/ of one office.
type store struct{ fs vfs.FS }

func (s store) name(aid, ext string) string { return dir + "/" + aid + ext }

// lock takes the agent's wake lock; nil without an error if it is taken. Close
// releases it.
func (s store) lock(aid string) (vfs.File, error) {
	f, err := s.create(s.name(aid, lockExt), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	ok, err := f.TryLock()
	if !ok || err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// create opens a file under wake/, making the directory if it is missing.
func (s store) create(name string, flag int) (vfs.File, error) {
	f, err := s.fs.OpenFile(name, flag, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := s.fs.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return s.fs.OpenFile(name, flag, 0o600)
}

// load reads the state. A missing one is empty; a torn one is empty too, and
// torn says why.
func (s store) load(aid string) (w *wake, torn string, err error) {
	f, err := s.fs.OpenFile(s.name(aid, stateExt), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &wake{}, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return nil, "", err
	}
	w = &wake{}
	switch err := json.Unmarshal(data, w); {
	case len(data) > maxState:
		return &wake{}, "too large", nil
	case err != nil:
		return &wake{}, err.Error(), nil
	case w.V != 1:
		return &wake{}, fmt.Sprintf("version %d", w.V), nil
	case !w.sound():
		return &wake{}, "holds impossible values", nil
	}
	return w, "", nil
}

// sound reports whether the fields can be what begin and settle wrote.
func (w *wake) sound() bool {
	for _, set := range []idSet{w.Announced, w.Tried} {
		if len(set.IDs) > MaxIDs {
			return false
		}
		for _, id := range set.IDs {
			if !id.Valid() {
				return false
			}
		}
	}
	return w.Tries >= 0 && w.Unanswered >= 0 && (len(w.Announced.IDs) == 0 || w.Told.State.Settled())
}

// save replaces the state; the caller holds the lock, so the temporary name is
// his alone. Not synced: see the package comment.
func (s store) save(aid string, w *wake) error {
	w.V = 1
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	tmp := dir + "/.tmp-" + aid + stateExt
	f, err := s.create(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, s.remove(tmp))
	}
	return s.fs.Rename(tmp, s.name(aid, stateExt))
}

// forget removes the state of an agent without unread mail.
func (s store) forget(aid string) error { return s.remove(s.name(aid, stateExt)) }

func (s store) remove(name string) error {
	if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// mark asks whoever holds the lock to look again.
func (s store) mark(aid string) error {
	f, err := s.create(s.name(aid, moreExt), os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}

func (s store) unmark(aid string) error { return s.remove(s.name(aid, moreExt)) }

func (s store) marked(aid string) bool {
	_, err := s.fs.Lstat(s.name(aid, moreExt))
	return err == nil
}

// open lists the agents for whom a wake may be owed: aid to whether a mark was
// left. A missing directory is none.
func (s store) open() (map[string]bool, error) {
	names, err := s.fs.ReadNames(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	open := make(map[string]bool)
	for _, name := range names {
		aid, state := strings.CutSuffix(name, stateExt)
		aid, marked := strings.CutSuffix(aid, moreExt)
		if (state || marked) && validAID(aid) {
			open[aid] = open[aid] || marked
		}
	}
	return open, nil
}

func storeError(agent string, err error) error {
	if err == nil {
		return nil
	}
	return &mail.Error{
		Op: "notify", Kind: mail.KindNotify, Addr: line(agent, 70), Err: err,
		Hint: `make wake/ in the office writable and run "post renotify"`,
	}
}
