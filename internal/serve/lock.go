package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// LockFile is the file in the office whose lock says that a serve runs. It
// guards nothing: two of them would only be a waste. Its content is
// information (docs/spool-format.md §1).
const LockFile = "serve.lock"

// Running is what LockFile and the user's state say of a serve.
type Running struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Version string    `json:"version"`
	Addr    string    `json:"addr"`
	Office  string    `json:"office,omitempty"`
	Page    bool      `json:"page,omitempty"`    // the page is at Addr
	Outside string    `json:"outside,omitempty"` // and at this URL, for other machines
}

// takeLock makes this process the office's serve, or says who is.
func takeLock(o *office.Office) (vfs.File, error) {
	f, err := o.FS.OpenFile(LockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		kind := mail.KindStore
		if errors.Is(err, fs.ErrPermission) || vfs.IsReadOnly(err) {
			kind = mail.KindReadOnly
		}
		return nil, &mail.Error{Op: "serve", Kind: kind, Addr: o.Dir, Err: err, Hint: "run it where the office may be written"}
	}
	ok, err := f.TryLock()
	if err == nil && ok {
		return f, nil
	}
	f.Close()
	if err != nil {
		return nil, &mail.Error{Op: "serve", Kind: mail.KindStore, Addr: LockFile, Err: err, Hint: `run "post doctor"`}
	}
	by := "another one"
	if r, ok := ReadRunning(o.FS); ok {
		by = fmt.Sprintf("pid %d on %s, since %s, at %s", r.PID, r.Host, r.Since.UTC().Format(time.RFC3339), r.Addr)
	}
	return nil, &mail.Error{Op: "serve", Kind: mail.KindConflict, Addr: o.Dir,
		Err: errors.New("this office is served already (" + by + ")"), Hint: "stop that one first; one is enough"}
}

// ReadRunning says who serves, or last served, an office.
func ReadRunning(fsys vfs.FS) (r Running, ok bool) {
	data, _, err := spool.ReadFile(fsys, LockFile, 4096)
	return r, err == nil && json.Unmarshal(data, &r) == nil
}

func sign(f vfs.File, sys office.System, addr string) {
	data, err := json.Marshal(running(sys, addr))
	if err != nil {
		return
	}
	if f.Truncate(0) == nil {
		f.WriteAt(append(data, '\n'), 0) // for people only
	}
}

func running(sys office.System, addr string) Running {
	return Running{PID: sys.PID, Host: sys.Host, Since: sys.Now().UTC().Truncate(time.Second), Version: sys.Version, Addr: addr}
}

// announce writes where to find this serve into the user's state; what it
// returns takes that back.
func (s *Server) announce(id string, doors *doors) (withdraw func()) {
	if s.StateDir == "" {
		return func() {}
	}
	path := announced(s.StateDir, id)
	r := running(s.Sys, doors.addr)
	r.Office, r.Page, r.Outside = s.Dir, s.Page != nil, doors.outsideURL
	data, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = replace(path, append(data, '\n'))
	}
	if err != nil {
		s.Log.Warn("the address is not in the user's state", "path", path, "error", err.Error())
	}
	return func() { os.Remove(path) }
}

func announced(stateDir, id string) string { return filepath.Join(stateDir, "serve", id+".json") }

// Announced says what a serve of that office wrote into the user's state. It may
// be gone since: its /healthz tells.
func Announced(stateDir, id string) (r Running, ok bool) {
	data, err := os.ReadFile(announced(stateDir, id))
	return r, err == nil && json.Unmarshal(data, &r) == nil
}

func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
