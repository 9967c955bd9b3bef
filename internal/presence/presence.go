// Package presence keeps what is known of an agent's session: is it at its
// prompt, does a turn run, is a permission dialog open (design §11).
//
// Invariants. It is a hint, never mail: whoever can't read it knows nothing,
// and nothing is lost. The file is written whole, by the agent's own hooks and
// MCP server or the keeper of its program alone, and not synced. What it says is the owner's word: readers
// decide by it when to wake, never whether mail is delivered.
package presence

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/vfs"
)

// File is the name in the agent's mailbox (docs/spool-format.md §7).
const File = "presence.json"

// version is the V that this package writes and understands.
const version = 1

// maxSize bounds the file, in bytes; what Write makes of sane paths is far
// below.
const maxSize = 32 << 10

// State is what the session does now.
type State string

// The states.
const (
	Idle        State = "idle"        // at its prompt
	Busy        State = "busy"        // a turn runs
	Dialog      State = "dialog"      // a permission question is open
	Interrupted State = "interrupted" // the person pressed Esc; nobody pushes it on
	Ended       State = "ended"
)

func (s State) valid() bool {
	switch s {
	case Idle, Busy, Dialog, Interrupted, Ended:
		return true
	}
	return false
}

// Session is what is known of the session that speaks, or last spoke, as an
// agent. Empty fields are unknown.
type Session struct {
	V       int       `json:"v"`
	Runtime string    `json:"runtime"`
	ID      string    `json:"id"`             // the runtime's own session id
	PID     int       `json:"pid,omitempty"`  // of the runtime; 0 where one process runs many sessions
	Start   string    `json:"start,omitzero"` // when that process started, as identity.Process has it
	State   State     `json:"state"`
	Since   time.Time `json:"since"`           // the state began
	At      time.Time `json:"at"`              // the last evidence of it
	Event   string    `json:"event,omitempty"` // the hook that said so
	OneShot bool      `json:"one_shot,omitempty"`
	Cwd     string    `json:"cwd,omitempty"`
	Socket  string    `json:"socket,omitempty"` // Claude Code's messaging socket
	Tmux    string    `json:"tmux,omitempty"`   // the socket in $TMUX
	Pane    string    `json:"pane,omitempty"`   // $TMUX_PANE
	Mode    string    `json:"mode,omitempty"`   // of permissions, in the runtime's words
	Version string    `json:"version,omitempty"`
}

// SawMail reports whether the last that is known is that the session saw its
// mailbox change by itself, and was woken: FileChanged, file.changed, fileChanged.
func (s Session) SawMail() bool {
	return strings.EqualFold(strings.ReplaceAll(s.Event, ".", ""), "filechanged")
}

// Read returns what the mailbox says of its agent's session. A file that is
// missing, torn, too large, of a newer version or of an unknown state says
// nothing: false without an error.
func Read(box vfs.FS) (Session, bool, error) { return ReadIn(box, ".") }

// ReadIn is Read of the mailbox in the directory dir of a file system.
func ReadIn(box vfs.FS, dir string) (Session, bool, error) {
	f, err := box.OpenFile(path.Join(dir, File), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.ErrNotRegular) {
		return Session{}, false, nil
	}
	if err != nil {
		return Session{}, false, storeError("read", box, dir, err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		return Session{}, false, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return Session{}, false, storeError("read", box, dir, err)
	}
	var s Session
	if len(data) > maxSize || json.Unmarshal(data, &s) != nil || !s.sound() {
		return Session{}, false, nil
	}
	return s, true, nil
}

func (s Session) sound() bool {
	return s.V == version && s.State.valid() && s.PID >= 0 && s.Runtime != "" && s.ID != ""
}

// Write replaces the file. V is set here.
func Write(box vfs.FS, s Session) error { return WriteIn(box, ".", s) }

// WriteIn is Write in the mailbox in the directory dir of a file system.
func WriteIn(box vfs.FS, dir string, s Session) error {
	s.V = version
	if !s.sound() {
		return storeError("write", box, dir, errors.New("the session has no runtime, id or known state"))
	}
	data, err := json.Marshal(s)
	if err != nil {
		return storeError("write", box, dir, err)
	}
	if err := vfs.PutHint(box, dir, File, append(data, '\n')); err != nil {
		return storeError("write", box, dir, err)
	}
	return nil
}

func storeError(op string, box vfs.FS, dir string, err error) error {
	return &mail.Error{Op: op + " presence", Kind: mail.KindStore, Addr: box.Path(path.Join(dir, File)), Err: err,
		Hint: `mail is not affected; "post doctor" looks at the mailbox`}
}
