package identity

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
)

// LocalOffice is the name of an office that belongs to a directory.
const LocalOffice = ".postroom"

// OfficeQuery is everything that may say which office is meant.
type OfficeQuery struct {
	Flag    string // --office
	Env     string // $POSTROOM_OFFICE
	Dir     string // the working directory, absolute
	Session string // the office that this session is bound to
	// Workspace returns the office that a directory or one above it is bound to.
	Workspace func(dir string) string
	Default   func() string // the user's default office
}

// FindOffice returns the office that is meant, as an absolute path without
// symlinks, and what decided it (design §3). It does not look inside.
func FindOffice(q OfficeQuery) (dir, why string, err error) {
	switch {
	case q.Flag != "":
		return Absolute(q.Dir, q.Flag), "--office", nil
	case q.Env != "":
		return Absolute(q.Dir, q.Env), "$POSTROOM_OFFICE", nil
	case q.Session != "":
		return Absolute(q.Dir, q.Session), "this session is bound to it", nil
	}
	here := Absolute(q.Dir, ".")
	if bound := q.Workspace(here); bound != "" {
		return Absolute(q.Dir, bound), "this workspace is bound to it", nil
	}
	for d := here; ; d = filepath.Dir(d) {
		local := filepath.Join(d, LocalOffice)
		if fi, err := os.Stat(local); err == nil && fi.IsDir() {
			return Absolute(d, local), LocalOffice + " in " + d, nil
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	if d := q.Default(); d != "" {
		return Absolute(q.Dir, d), "your default office", nil
	}
	return "", "", &mail.Error{Op: "find office", Kind: mail.KindNotFound,
		Err:  errors.New("none is bound here, none is named and there is no default"),
		Hint: `run "post init" to make one, or name one with --office DIR`}
}

// Locate is FindOffice with what this user's state says. An office that is
// merely found has to be this user's: an office runs the commands that its
// registry names, and whoever can write a directory here or above can put one
// there (docs/threat-model.md).
func Locate(user config.User, flag, env, dir string, session config.Binding) (office, why string, err error) {
	office, why, err = FindOffice(OfficeQuery{Flag: flag, Env: env, Dir: dir, Session: session.Office,
		Workspace: func(dir string) string {
			b, _ := user.Workspace(dir)
			return b.Office
		},
		Default: user.DefaultOffice,
	})
	if err == nil && strings.HasPrefix(why, LocalOffice) && !user.Accepted(office) {
		return "", "", &mail.Error{Op: "find office", Kind: mail.KindForeign, Addr: office,
			Err:  errors.New("there is an office here that you have not made on this machine"),
			Hint: `if you trust it, say so in a terminal of your own: post init ` + office + `; or name another with --office DIR`}
	}
	return office, why, err
}

// Vouched reports whether the user has made the office in dir, or bound it to
// the directory here or above: so an agent did not put it there.
func Vouched(user config.User, dir, here string) bool {
	if user.Accepted(dir) {
		return true
	}
	b, _ := user.Workspace(Absolute(here, "."))
	return b.Office == dir
}

// Unvouched is the error of an agent's session that names such an office.
func Unvouched(dir, why string) error {
	return &mail.Error{Op: "find office", Kind: mail.KindForeign, Addr: dir,
		Err:  errors.New(why + " names an office that no person has made or accepted on this machine, and this is an agent's session"),
		Hint: "leave it out; or a person accepts it in a terminal of their own: post init " + dir}
}

// Absolute makes path absolute, seen from dir, and resolves its symlinks as far
// as it exists.
func Absolute(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	// What does not exist yet stands in a parent that may.
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Absolute(dir, parent), filepath.Base(path))
}
