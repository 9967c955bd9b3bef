package cli

import (
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/office"
)

// FindOffice says which office this command works in, and why (design §3).
func (e *Env) FindOffice() (dir, why string, err error) {
	user := e.User()
	session, _ := user.Session(e.SessionKey())
	return identity.FindOffice(identity.OfficeQuery{
		Flag: e.Globals.Office, Env: e.Getenv("POSTROOM_OFFICE"), Dir: e.Dir,
		Session: session.Office, Workspace: func(dir string) string {
			b, _ := user.Workspace(dir)
			return b.Office
		},
		Default: user.DefaultOffice,
	})
}

// Office opens the office this command works in. It does not check whether
// the office may be written: see office.CheckWritable.
func (e *Env) Office() (*office.Office, error) {
	dir, _, err := e.FindOffice()
	if err != nil {
		return nil, err
	}
	return office.Open(dir, e.System)
}

// Me says who this command acts as in o: an agent, or a person if --as human
// was given, who passed the person check.
func (e *Env) Me(o *office.Office) (identity.Me, error) {
	reg, err := o.Registry()
	if err != nil {
		return identity.Me{}, err
	}
	as := e.As
	if as == "human" {
		if err := e.RequirePerson(e.personCheck()); err != nil {
			return identity.Me{}, err
		}
	}
	session, bound := e.User().Session(e.SessionKey())
	if bound && session.Office != o.Dir {
		session = config.Binding{}
	}
	return identity.Resolve(identity.Claim{
		Book: reg, Dir: identity.Absolute(e.Dir, "."), As: as, Env: e.Getenv("POSTROOM_AGENT"), Session: session,
		Surroundings: func() (string, bool) { return identity.Surroundings(e.Getenv, e.Procs) },
	})
}
