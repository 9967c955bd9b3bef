// Package unit writes the file that has the user's service manager run
// `postd serve`: a systemd user unit or a launchd agent.
//
// Invariants. It writes one file and starts nothing; it says which commands do.
// The file carries a digest of itself, so a file that somebody changed, or
// somebody else's, is never replaced or removed. A path may hold anything but
// control characters.
package unit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Manager is a kind of service manager.
type Manager string

// The managers.
const (
	Systemd Manager = "systemd"
	Launchd Manager = "launchd"
)

// Service is what is to be run.
type Service struct {
	OfficeID string
	Office   string // directory, absolute
	Program  string // postd, absolute
	Path     string // $PATH of the service: for git and for programs that wake agents
	// Home is the user's home directory; ConfigHome is $XDG_CONFIG_HOME, which
	// may be empty; StateHome is $XDG_STATE_HOME, passed on if set.
	Home, ConfigHome, StateHome string
}

// Name is the file's name without its ending.
func (s Service) Name(m Manager) string {
	if m == Launchd {
		return "dev.postroom." + s.OfficeID
	}
	return "postroom-" + s.OfficeID
}

// File is where the manager looks for it.
func (s Service) File(m Manager) string {
	if m == Launchd {
		return filepath.Join(s.Home, "Library", "LaunchAgents", s.Name(m)+".plist")
	}
	dir := s.ConfigHome
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Home, ".config")
	}
	return filepath.Join(dir, "systemd", "user", s.Name(m)+".service")
}

// Render is the file's content, marked. KindInvalid: something cannot be said
// in such a file.
func (s Service) Render(m Manager) ([]byte, error) {
	for _, v := range []string{s.OfficeID, s.Office, s.Program, s.Path, s.Home, s.StateHome} {
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, &mail.Error{Op: "write service", Kind: mail.KindInvalid, Addr: mail.Neutralise(v, false),
				Err: errors.New("holds a control character"), Hint: "rename the directory"}
		}
	}
	for _, v := range []string{s.Office, s.Program, s.Home} {
		if !filepath.IsAbs(v) {
			return nil, &mail.Error{Op: "write service", Kind: mail.KindInvalid, Addr: v, Err: errors.New("is not an absolute path")}
		}
	}
	if m == Launchd {
		return sign(s.plist(), "<!-- ", " -->", 1), nil
	}
	return sign(s.unit(), "# ", "", 0), nil
}

// Enable lists the commands that start it, now and at every login.
func (s Service) Enable(m Manager) []string {
	if m == Launchd {
		return []string{"launchctl bootstrap gui/$(id -u) " + shell(s.File(m))}
	}
	return []string{"systemctl --user daemon-reload", "systemctl --user enable --now " + s.Name(m) + ".service",
		"loginctl enable-linger     # to have it run while you are not logged in"}
}

// Disable lists the commands that stop it. They come before the file is removed.
func (s Service) Disable(m Manager) []string {
	if m == Launchd {
		return []string{"launchctl bootout gui/$(id -u)/" + s.Name(m)}
	}
	return []string{"systemctl --user disable --now " + s.Name(m) + ".service"}
}

func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

const marker = "Written by post service install; do not edit. "

// sign puts a line with the digest of all the others in as line number at.
func sign(text, open, end string, at int) []byte {
	lines := strings.SplitAfter(text, "\n")
	line := open + marker + string(mail.DigestOf([]byte(text))) + end + "\n"
	return []byte(strings.Join(lines[:at], "") + line + strings.Join(lines[at:], ""))
}

// Ours reports whether a file was written here, and whether it was changed
// since.
func Ours(data []byte) (ours, changed bool) {
	for line := range bytes.Lines(data) {
		_, rest, found := bytes.Cut(line, []byte(marker))
		if !found {
			continue
		}
		digest, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		without := bytes.Replace(data, line, nil, 1)
		return true, string(mail.DigestOf(without)) != string(digest)
	}
	return false, false
}

// Install writes the file. It replaces only what it wrote itself. KindConflict:
// something else is there, or somebody changed the file.
func (s Service) Install(m Manager) (path string, err error) {
	data, err := s.Render(m)
	if err != nil {
		return "", err
	}
	path = s.File(m)
	if _, err := mine(path); err != nil {
		return path, err
	}
	if err := write(path, data); err != nil {
		return path, &mail.Error{Op: "write service", Kind: mail.KindStore, Addr: path, Err: err}
	}
	return path, nil
}

// Uninstall removes the file; removed is false if there is none. KindConflict as
// for Install.
func (s Service) Uninstall(m Manager) (path string, removed bool, err error) {
	path = s.File(m)
	there, err := mine(path)
	if err != nil || !there {
		return path, false, err
	}
	if err := os.Remove(path); err != nil {
		return path, false, &mail.Error{Op: "remove service", Kind: mail.KindStore, Addr: path, Err: err}
	}
	return path, true, nil
}

// mine reports whether the file is there; if it is, it is as it was written
// here, or that is the error.
func mine(path string) (there bool, err error) {
	conflict := func(what, hint string) error {
		return &mail.Error{Op: "service", Kind: mail.KindConflict, Addr: path, Err: errors.New(what), Hint: hint}
	}
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, &mail.Error{Op: "service", Kind: mail.KindStore, Addr: path, Err: err}
	case !fi.Mode().IsRegular():
		return true, conflict("is not a file that was written here", "move it away")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return true, &mail.Error{Op: "service", Kind: mail.KindStore, Addr: path, Err: err}
	}
	switch ours, changed := Ours(data); {
	case !ours:
		return true, conflict("was not written here, and stays", "move it away")
	case changed:
		return true, conflict("was changed since it was written here, and stays", "keep your changes elsewhere and remove it yourself")
	}
	return true, nil
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".postroom-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
