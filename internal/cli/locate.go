package cli

import (
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
	dir, why, err = identity.Locate(user, e.Globals.Office, e.Getenv("POSTROOM_OFFICE"), e.Dir, session)
	if err != nil || session.Office == dir || identity.Vouched(user, dir, e.Dir) {
		return dir, why, err
	}
	// What an agent writes must not become an office whose registry names the
	// commands that are run, and whose settings say who is a person.
	if _, agent := identity.InAgentSession(e.Getenv, e.above(), config.PersonCheckFull); agent {
		return "", "", identity.Unvouched(dir, why)
	}
	return dir, why, nil
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
	session, bound := e.binding(o, reg)
	me, err := identity.Resolve(identity.Claim{
		Book: reg, Dir: e.Dir, As: e.As, Env: e.Getenv("POSTROOM_AGENT"), Session: session,
		Surroundings: func() (string, bool) { return identity.Surroundings(e.Getenv, e.above()) },
		Held:         func(aid string) bool { return e.heldByOther(o, aid) },
	})
	if err == nil && me.ByWorkspace && (!bound || session.Agent == "") {
		_ = e.hold(o, me.Entry) // where the state cannot be written, the place still tells
	}
	return me, err
}

// binding is what this session is bound to in o. Where its key is bound to
// nothing and somebody is named, it is what the process that runs the session
// speaks as: whoever changes the environment stays who he is.
func (e *Env) binding(o *office.Office, reg *registry.Registry) (b config.Binding, bound bool) {
	b, bound = e.User().Session(e.SessionKey())
	if bound && b.Office != o.Dir {
		b = config.Binding{}
	}
	if b.Agent != "" || e.As == "" && e.Getenv("POSTROOM_AGENT") == "" {
		return b, bound
	}
	if reg.Len() <= fewAgents && !e.anyHeld(o, reg) {
		return b, bound // which a look at as many files tells as at the processes above
	}
	p, ok := identity.ProcessHolder(e.above())
	if !ok {
		return b, bound
	}
	for _, r := range reg.Ours() {
		if h, held := e.roll(o).Holder(r.AID); held && h.Runs(p) {
			return config.Binding{Office: o.Dir, Agent: r.AID, Name: r.Name}, true
		}
	}
	return b, bound
}

// fewAgents is up to how many agents are asked one by one who speaks as them.
const fewAgents = 6

// anyHeld reports whether a session speaks, or spoke last, as any agent of o.
func (e *Env) anyHeld(o *office.Office, reg *registry.Registry) bool {
	for _, r := range reg.Ours() {
		if _, held := e.roll(o).Holder(r.AID); held {
			return true
		}
	}
	return false
}

// Roll keeps which session speaks as which agent of o.
func (e *Env) Roll(o *office.Office) identity.Roll { return e.roll(o) }

// roll keeps which session speaks as which agent of o.
func (e *Env) roll(o *office.Office) identity.Roll {
	return identity.Roll{User: e.User(), Office: o.Dir, OfficeID: o.Config.ID}
}

// heldByOther reports whether another live session speaks as the agent. It
// asks for agents' sessions only: a person's shell and scripts are free.
func (e *Env) heldByOther(o *office.Office, aid string) bool {
	h, ok := e.roll(o).Holder(aid)
	if !ok || h.Key == e.SessionKey() {
		return false
	}
	now, ok := identity.CurrentHolder(e.Getenv, e.above())
	if ok && h.PID == 0 { // of a daemon; whether it lives, the guest's own hook has looked
		b, _ := e.User().Session(now.Key)
		_, guest := identity.Guest(b)
		return guest && b.Office == o.Dir
	}
	if p, above := identity.ProcessHolder(e.above()); above { // not to be changed by the environment
		now.PID, now.Start, ok = p.PID, p.Start, true
	}
	return ok && h.Blocks(now, e.Procs)
}

// hold binds this session, if it is an agent's, to the agent.
func (e *Env) hold(o *office.Office, r registry.Entry) error {
	now, ok := identity.CurrentHolder(e.Getenv, e.above())
	if !ok {
		return nil
	}
	return e.roll(o).Hold(now, r.AID, r.Name)
}

// release takes the agent from the session that speaks as it.
func (e *Env) release(o *office.Office, r registry.Entry) error {
	return e.roll(o).Release(r.AID, r.Name)
}
