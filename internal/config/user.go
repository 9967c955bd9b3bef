package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/plain"
	"github.com/postroom/postroom/internal/vfs"
)

// User is where one user keeps pointers to offices: the default office, the
// office of a workspace, and which agent a session is. All of it is a cache of
// choices: deleting it loses no mail.
type User struct {
	Dir  string // the state directory, e.g. ~/.local/state/postroom
	Home string // where the default office is made
}

// UserFrom finds the user's state directory from the environment.
func UserFrom(getenv func(string) string) User {
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	dir := getenv("XDG_STATE_HOME")
	switch {
	case dir != "":
	case getenv("LOCALAPPDATA") != "":
		dir = getenv("LOCALAPPDATA")
	default:
		dir = filepath.Join(home, ".local", "state")
	}
	data := getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	return User{Dir: filepath.Join(dir, "postroom"), Home: filepath.Join(data, "postroom", "office")}
}

// Binding says which agent a session is, in which office.
type Binding struct {
	Office string `json:"office"`
	Agent  string `json:"agent,omitempty"` // aid
	Name   string `json:"name,omitempty"`
}

// DefaultOffice returns the user's default office, "" if none was made.
func (u User) DefaultOffice() string {
	b, err := os.ReadFile(filepath.Join(u.Dir, "default-office"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// SetDefaultOffice records the user's default office.
func (u User) SetDefaultOffice(dir string) error { return u.write("default-office", []byte(dir+"\n")) }

// Session returns the binding of a session, by the key that SessionKey gives.
func (u User) Session(key string) (Binding, bool) { return u.read("sessions", key) }

// BindSession records which agent a session is.
func (u User) BindSession(key string, b Binding) error { return u.bind("sessions", key, b) }

// Workspace returns the binding of dir or of the nearest directory above it.
func (u User) Workspace(dir string) (Binding, bool) {
	if _, err := os.Lstat(filepath.Join(u.Dir, "workspaces")); err != nil {
		return Binding{}, false
	}
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if b, ok := u.read("workspaces", d); ok {
			return b, true
		}
		if d == filepath.Dir(d) {
			return Binding{}, false
		}
	}
}

// BindWorkspace records which office a directory belongs to.
func (u User) BindWorkspace(dir string, b Binding) error {
	return u.bind("workspaces", filepath.Clean(dir), b)
}

// Accept records that this user made the office in dir, or said that it is to be
// used where it is found.
func (u User) Accept(dir string) error { return u.bind("offices", dir, Binding{Office: dir}) }

// Accepted reports whether Accept was called for dir.
func (u User) Accepted(dir string) bool {
	b, ok := u.read("offices", dir)
	return ok && b.Office == dir
}

func entryName(key string) string { return string(mail.DigestOf([]byte(key)))[:24] + ".json" }

// maxEntry bounds what is read of one of them, in bytes.
const maxEntry = 64 << 10

func (u User) read(kind, key string) (Binding, bool) {
	if key == "" {
		return Binding{}, false
	}
	data, err := vfs.ReadSystem(filepath.Join(u.Dir, kind, entryName(key)), maxEntry)
	if err != nil {
		return Binding{}, false
	}
	b, ok := parseBinding(data)
	if !ok && json.Unmarshal(data, &b) != nil || b.Office == "" {
		return Binding{}, false
	}
	return b, true
}

// parseBinding reads what bind wrote, if it is plain.
func parseBinding(data []byte) (Binding, bool) {
	c := plain.Cutter{Rest: string(data)}
	c.Must(`{"office":"`)
	b := Binding{Office: c.Text(), Agent: c.Some(`,"agent":"`), Name: c.Some(`,"name":"`)}
	c.Must("}\n")
	if c.Bad || c.Rest != "" {
		return Binding{}, false
	}
	return b, true
}

func (u User) bind(kind, key string, b Binding) error {
	if key == "" {
		return nil
	}
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return u.write(filepath.Join(kind, entryName(key)), append(data, '\n'))
}

// write replaces a state file as a whole.
func (u User) write(name string, data []byte) error {
	path := filepath.Join(u.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return stateError(path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return stateError(path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return stateError(path, err)
	}
	return nil
}

func stateError(path string, err error) error {
	return &mail.Error{Op: "write user state", Kind: mail.KindStore, Addr: path, Err: err,
		Hint: "set XDG_STATE_HOME to a directory you can write"}
}
