package identity

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
)

// Book is what resolving needs of the registry.
type Book interface {
	Entry(name string) (registry.Entry, bool)
	EntryByAID(aid string) (registry.Entry, bool)
	Ours() []registry.Entry // without those of other stations, whom nobody here can be
	Suggest(name string) []string
}

// Claim is everything that may say which agent this is.
type Claim struct {
	Book    Book
	Dir     string // the working directory, absolute
	As      string // --as
	Env     string // $POSTROOM_AGENT
	Session config.Binding
	// Surroundings is asked only where the workspace has to decide; it may be
	// nil. See the function of that name.
	Surroundings func() (runtime string, oneShot bool)
	// Held says whether another live session speaks as the agent; it may be nil.
	Held func(aid string) bool
}

// Me is who a command acts as.
type Me struct {
	Human bool // a person; Entry is empty
	Entry registry.Entry
	How   string // what decided it
	// ByWorkspace: nothing but the place says so. A session should be bound to
	// the agent before another one comes.
	ByWorkspace bool
}

// Name is the address of whoever it is.
func (m Me) Name() string {
	if m.Human {
		return mail.NameHuman
	}
	return m.Entry.Name
}

// Resolve says which agent this is (design §11). Whether a person may speak is
// for the caller to check before it passes As "human".
func Resolve(c Claim) (Me, error) {
	if c.As == mail.NameHuman {
		return Me{Human: true, How: "--as human"}, nil
	}
	if c.Session.Agent != "" {
		return c.bound()
	}
	switch {
	case c.As != "":
		return c.named(c.As, "--as")
	case c.Env != "":
		return c.named(c.Env, "$POSTROOM_AGENT")
	}
	return c.byWorkspace()
}

// bound is the agent of the session, if nothing contradicts it.
func (c Claim) bound() (Me, error) {
	e, ok := c.Book.EntryByAID(c.Session.Agent)
	if !ok {
		return Me{}, identityError(c.Session.Name, "this session is bound to an agent that the office does not have",
			`run "post join" again, or name the right office with --office`)
	}
	for _, said := range [][2]string{{c.As, "--as"}, {c.Env, "$POSTROOM_AGENT"}} {
		if said[0] == "" {
			continue
		}
		if other, ok := c.Book.Entry(said[0]); !ok || other.AID != e.AID {
			return Me{}, identityError(said[0], said[1]+" disagrees with this session, which is "+e.Name,
				"leave out "+said[1]+"; a session speaks for its own agent only")
		}
	}
	if c.Held != nil && c.Held(e.AID) {
		return Me{}, identityError(e.Name, "another live session speaks as it now",
			`run "post join NAME" with another name; or, if this one shall be `+e.Name+`, a person can run "post join `+e.Name+` --takeover" when that one has ended`)
	}
	return active(e, "this session is bound to it")
}

func (c Claim) named(name, how string) (Me, error) {
	if mail.Reserved(name) {
		return Me{}, identityError(name, how+" names no agent", "leave it out, or name an agent; a person says --as human")
	}
	e, ok := c.Book.Entry(name)
	if !ok {
		e, ok = c.Book.Entry(strings.TrimPrefix(name, "agent."))
	}
	if !ok {
		hint := `see "post agents"`
		if near := c.Book.Suggest(name); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return Me{}, identityError(name, how+" names an agent that the office does not have", hint)
	}
	if c.Held != nil && c.Held(e.AID) {
		return Me{}, identityError(e.Name, how+" names an agent that another live session speaks as",
			`run "post join NAME" with another name; or, if this one shall be `+e.Name+`, a person can run "post join `+e.Name+` --takeover"`)
	}
	return active(e, how)
}

func active(e registry.Entry, how string) (Me, error) {
	if e.Station != "" {
		return Me{}, identityError(e.Name, "is an agent of station "+e.Station+", and nobody here speaks as it", "name an agent of this office: post agents --local")
	}
	if e.Archived {
		return Me{}, identityError(e.Name, "is archived", `a person can run "post agent unarchive `+e.Name+`"`)
	}
	return Me{Entry: e, How: how}, nil
}

// byWorkspace is the one agent whose workspace is here or nearest above.
func (c Claim) byWorkspace() (Me, error) {
	entries := c.Book.Ours()
	runtime, oneShot := "", false
	if c.Surroundings != nil {
		runtime, oneShot = c.Surroundings()
	}
	if oneShot {
		return Me{}, c.nobody("a one-shot session, or one in a sandbox that hides what it is, speaks for no agent by standing in its workspace", entries)
	}
	c.Dir = Absolute(c.Dir, ".")
	for d := c.Dir; ; d = filepath.Dir(d) {
		found, others := at(d, runtime, entries)
		switch {
		case len(found) == 1 && c.Held != nil && c.Held(found[0].AID):
			return Me{}, identityError(found[0].Name, "another live session here speaks as it already",
				`run "post join NAME" with another name; or, if this one shall be `+found[0].Name+`, a person can run "post join `+found[0].Name+` --takeover"`)
		case len(found) == 1:
			return Me{Entry: found[0], How: "its workspace is " + d, ByWorkspace: true}, nil
		case len(found) > 1:
			return Me{}, ambiguous(d, found)
		case len(others) > 0:
			return Me{}, c.nobody("the agent of "+d+" is of another runtime than this session ("+runtime+")", others)
		case d == filepath.Dir(d):
			return Me{}, c.nobody("no agent works in "+c.Dir, entries)
		}
	}
}

// at lists the agents whose workspace is dir: those that this session can be,
// and those of another runtime.
func at(dir, runtime string, entries []registry.Entry) (found, others []registry.Entry) {
	for _, e := range entries {
		switch {
		case e.Archived || e.Workspace == "" || filepath.Clean(e.Workspace) != dir:
		case runtime != "" && e.Runtime != "" && e.Runtime != runtime:
			others = append(others, e)
		default:
			found = append(found, e)
		}
	}
	return found, others
}

func ambiguous(dir string, found []registry.Entry) error {
	return &mail.Error{Op: "find agent", Kind: mail.KindAmbiguous, Addr: dir,
		Err:  errors.New("several agents work here: " + list(found)),
		Hint: "say which one with --as " + found[0].Name + " or $POSTROOM_AGENT"}
}

func (c Claim) nobody(why string, candidates []registry.Entry) error {
	hint := `run "post join NAME" here`
	if l := list(candidates); l != "" {
		hint += ", or say --as NAME (" + l + ")"
	}
	return identityError("", why, hint)
}

// maxListed bounds how many candidates an error lists.
const maxListed = 8

func list(entries []registry.Entry) string {
	var names []string
	for _, e := range entries {
		if !e.Archived {
			names = append(names, e.Name)
		}
	}
	if len(names) > maxListed {
		names = append(names[:maxListed], "…")
	}
	return strings.Join(names, ", ")
}

func identityError(addr, why, hint string) error {
	return &mail.Error{Op: "find agent", Kind: mail.KindIdentity, Addr: addr, Err: errors.New(why), Hint: hint}
}
