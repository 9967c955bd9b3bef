package cli

import (
	"errors"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/vfs"
)

// personCheck is how the office at hand tells a person from an agent. Without
// an office, or in one that was not made here, nothing may weaken the check.
func (e *Env) personCheck() string {
	o, err := e.Office()
	if err != nil || !madeHere(o) {
		return config.PersonCheckFull
	}
	return o.Config.PersonCheck
}

// madeHere reports whether the office says, rightly, that it was made in this
// directory of this machine: a checked-out or copied one does not.
func madeHere(o *office.Office) bool {
	fi, err := o.FS.Lstat(".")
	if err != nil || o.Config.Machine == "" || o.Foreign() != "" {
		return false
	}
	_, ino, has := vfs.Inode(fi)
	return !has || ino == o.Config.Inode
}

// RequirePerson refuses inside an agent's session (design §11).
func (e *Env) RequirePerson(check string) error {
	why, yes := identity.InAgentSession(e.Getenv, e.above(), check)
	if !yes {
		return nil
	}
	return &mail.Error{Op: e.name, Kind: mail.KindPerson,
		Err:  errors.New("only a person may do this, and this is an agent's session (" + why + ")"),
		Hint: "ask your person to run it in a terminal of their own"}
}
