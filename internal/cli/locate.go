package cli

import (
	"errors"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
)

// FindOffice says which office this command works in, and why (design §3).
func (e *Env) FindOffice() (dir, why string, err error) {
	user := e.User()
	session, _ := user.Session(e.SessionKey())
	dir, why, err = identity.FindOffice(identity.OfficeQuery{
		Flag: e.Globals.Office, Env: e.Getenv("POSTROOM_OFFICE"), Dir: e.Dir,
		Session: session.Office, Workspace: func(dir string) string {
			b, _ := user.Workspace(dir)
			return b.Office
		},
		Default: user.DefaultOffice,
	})
	if err == nil && strings.HasPrefix(why, identity.LocalOffice) && !user.Accepted(dir) {
		return "", "", notAccepted(dir)
	}
	return dir, why, err
}

// notAccepted: an office runs the commands that its registry names, and whoever
// can write a directory here or above can put one there. So one that is merely
// found has to be this user's (docs/threat-model.md).
func notAccepted(dir string) error {
	return &mail.Error{Op: "find office", Kind: mail.KindForeign, Addr: dir,
		Err:  errors.New("there is an office here that you have not made on this machine"),
		Hint: `if you trust it, say so in a terminal of your own: post init ` + dir + `; or name another with --office DIR`}
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
// was given, who passed the person check. An agent's session that only its
// place tells is bound to the agent from now on (design §11).
func (e *Env) Me(o *office.Office) (identity.Me, error) {
	reg, err := o.Book()
	if err != nil {
		return identity.Me{}, err
	}
	return e.MeIn(o, reg)
}

// MeIn is Me with the registry at hand.
func (e *Env) MeIn(o *office.Office, reg *registry.Registry) (identity.Me, error) {
	if e.As == mail.NameHuman {
		if err := e.RequirePerson(e.personCheck()); err != nil {
			return identity.Me{}, err
		}
	}
	session, bound := e.User().Session(e.SessionKey())
	if bound && session.Office != o.Dir {
		session = config.Binding{}
	}
	me, err := identity.Resolve(identity.Claim{
		Book: reg, Dir: e.Dir, As: e.As, Env: e.Getenv("POSTROOM_AGENT"), Session: session,
		Surroundings: func() (string, bool) { return identity.Surroundings(e.Getenv, e.Procs) },
		Held:         func(aid string) bool { return e.heldByOther(o, aid) },
	})
	if err == nil && me.ByWorkspace && !bound {
		_ = e.hold(o, me.Entry) // where the state cannot be written, the place still tells
	}
	return me, err
}

// holderKey is where the user's state keeps which session speaks as an agent.
func holderKey(o *office.Office, aid string) string { return "holder:" + o.Config.ID + ":" + aid }

// heldByOther reports whether another live session speaks as the agent. It
// asks for agents' sessions only: a person's shell and scripts are free.
func (e *Env) heldByOther(o *office.Office, aid string) bool {
	now, ok := identity.CurrentHolder(e.Getenv, e.Procs)
	if !ok {
		return false
	}
	b, ok := e.User().Session(holderKey(o, aid))
	return ok && identity.ParseHolder(b.Name).Blocks(now, e.Procs)
}

// hold binds this session, if it is an agent's, to the agent.
func (e *Env) hold(o *office.Office, r registry.Entry) error {
	now, ok := identity.CurrentHolder(e.Getenv, e.Procs)
	if !ok {
		return nil
	}
	user, b := e.User(), config.Binding{Office: o.Dir, Agent: r.AID, Name: r.Name}
	if err := user.BindSession(now.Key, b); err != nil {
		return err
	}
	b.Name = now.Text()
	return user.BindSession(holderKey(o, r.AID), b)
}

// release forgets which session speaks as the agent.
func (e *Env) release(o *office.Office, r registry.Entry) error {
	return e.User().BindSession(holderKey(o, r.AID), config.Binding{Office: o.Dir, Agent: r.AID})
}
