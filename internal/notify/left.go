package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// Attempts whose evidence could not be journalled, since somebody else was
// routing, are left in wake/, a file for each: docs/spool-format.md §10.
const (
	leftPrefix = "left-"
	leftMax    = 256 // taken at once
	leftSize   = 64 << 10
)

// leftAttempt is the file.
type leftAttempt struct {
	V int `json:"v"`
	Attempt
}

// Leave writes attempts down for whoever journals next; pid is the caller's.
// Safe to call beside others. Errors: KindNotify.
func Leave(fsys vfs.FS, pid int, attempts []Attempt) error {
	s := store{fsys}
	var errs []error
	for n, a := range attempts {
		a.Agent.Session = nil
		data, err := json.Marshal(leftAttempt{1, a})
		if err == nil {
			err = s.leave(fmt.Sprintf("%s-%d-%d-%d", a.Agent.AID, a.At.UnixNano(), pid, n), append(data, '\n'))
		}
		errs = append(errs, storeError(a.Agent.Name, err))
	}
	return errors.Join(errs...)
}

func (s store) leave(id string, data []byte) error {
	tmp := dir + "/.tmp-" + id
	f, err := s.create(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, s.remove(tmp))
	}
	return s.fs.Rename(tmp, dir+"/"+leftPrefix+id+stateExt)
}

// AnyLeft reports whether TakeLeft would find something.
func AnyLeft(fsys vfs.FS) bool {
	names, _ := fsys.ReadNames(dir)
	return slices.ContainsFunc(names, isLeft)
}

func isLeft(name string) bool {
	return strings.HasPrefix(name, leftPrefix) && strings.HasSuffix(name, stateExt)
}

// TakeLeft returns what was left, oldest first for each agent, and what removes
// it once it is journalled. The caller holds the lease. A file that cannot be
// read as an attempt is removed with the rest: it tells nobody anything.
// Errors: KindNotify.
func TakeLeft(fsys vfs.FS) (left []Attempt, forget func() error, err error) {
	s := store{fsys}
	names, err := fsys.ReadNames(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, storeError("", err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !isLeft(n) })
	slices.Sort(names)
	names = names[:min(len(names), leftMax)]
	for _, name := range names {
		if a, ok := s.readLeft(name); ok {
			left = append(left, a)
		}
	}
	return left, func() error {
		var errs []error
		for _, name := range names {
			errs = append(errs, s.remove(dir+"/"+name))
		}
		return storeError("", errors.Join(errs...))
	}, nil
}

func (s store) readLeft(name string) (Attempt, bool) {
	f, err := s.fs.OpenFile(dir+"/"+name, os.O_RDONLY, 0)
	if err != nil {
		return Attempt{}, false
	}
	defer f.Close()
	var l leftAttempt
	data, err := io.ReadAll(io.LimitReader(f, leftSize))
	if err != nil || json.Unmarshal(data, &l) != nil || l.V != 1 || !l.sound() {
		return Attempt{}, false
	}
	l.Outcome.Evidence = line(l.Outcome.Evidence, evidenceMax)
	return l.Attempt, true
}

// sound reports whether it can be what Leave wrote.
func (l leftAttempt) sound() bool {
	bad := func(id mail.ID) bool { return !id.Valid() }
	return validName(l.Agent.Name) && validAID(l.Agent.AID) && l.Outcome.State.Known() &&
		len(l.IDs) <= MaxIDs && !slices.ContainsFunc(l.IDs, bad)
}
