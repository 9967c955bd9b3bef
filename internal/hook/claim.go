package hook

import (
	"path/filepath"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
)

// seat is an agent and the session that speaks as it.
type seat struct {
	*mailbox.Mailbox
	roll    identity.Roll
	key     string // of the session
	claimed bool   // just now
}

// call is one event on its way to an answer.
type call struct {
	*Hook
	Event
	key string

	// What runs the session, looked up when it is asked for first.
	looked bool
	proc   identity.Process
	shared bool
	ran    bool
}

// process is what runs this session; ok is false if nobody can tell.
func (c *call) process() (p identity.Process, shared, ok bool) {
	if !c.looked {
		c.proc, c.shared, c.ran = identity.RuntimeProcess(c.Runtime.Name(), c.Getenv, c.Procs)
		c.looked = true
	}
	return c.proc, c.shared, c.ran
}

// holder is this session as one that may hold an agent.
func (c *call) holder() identity.Holder {
	h := identity.Holder{Key: c.key}
	if p, shared, ok := c.process(); ok && !shared {
		h.PID, h.Start = p.PID, p.Start
	}
	return h
}

// env is the session's own environment; nothing where a daemon runs it.
func (c *call) env(name string) string {
	if c.Runtime.Limits().Daemon {
		if _, shared, ok := c.process(); shared || !ok {
			return ""
		}
	}
	return c.Getenv(name)
}

func (c *call) oneShot() bool {
	if c.OneShot {
		return true
	}
	p, _, ok := c.process()
	return ok && identity.OneShot(c.Runtime.Name(), p)
}

// seat finds out who the session is (design §11). With a nil seat it is nobody;
// say is what it is told about that, mostly nothing.
func (c *call) seat() (s *seat, say string, err error) {
	b, bound := c.User.Session(c.key)
	was, guest := identity.Guest(b)
	switch {
	case guest && was != "":
		if c.Kind != SessionStart && c.Kind != TurnStart {
			return nil, "", nil
		}
		return nil, c.words().lost(was), c.User.BindSession(c.key, config.Binding{Office: b.Office, Name: strings.TrimSuffix(b.Name, was)})
	case bound && b.Agent != "":
		return c.bound(b)
	case guest && (c.Kind != SessionStart || c.Source == Compact):
		return nil, "", nil
	case c.Kind != SessionStart && c.Kind != TurnStart, c.AgentID != "":
		return nil, "", nil
	}
	return c.claim(bound)
}

// bound is the seat of a session that was bound before. If another session
// holds the agent by now, it is a guest.
func (c *call) bound(b config.Binding) (*seat, string, error) {
	o, reg, err := c.open(b.Office)
	if err != nil {
		return nil, "", err
	}
	e, ok := reg.EntryByAID(b.Agent)
	switch {
	case !ok || e.Station != "":
		return nil, "", nil
	case e.Archived && c.Kind == SessionStart && c.Source != Compact:
		return nil, c.words().archived(e.Name), nil
	case e.Archived:
		return nil, "", nil
	}
	s := &seat{roll: c.roll(o), key: c.key}
	h, held := s.roll.Holder(e.AID)
	switch {
	case held && h.Key != c.key && c.Kind != SessionStart && c.Kind != TurnStart:
		return nil, "", nil // the tail of an older session's turn takes nothing back
	case c.AgentID != "":
	case h.Key != c.key:
		if held && c.holds(h, e, o) || !held && !under(c.dir(), e.Workspace) {
			if err := s.roll.BindGuest(c.key, ""); err != nil {
				return nil, "", err
			}
			return nil, c.words().lost(e.Name), nil
		}
		fallthrough
	case c.elsewhere(h):
		if err := s.roll.Hold(c.holder(), e.AID, e.Name); err != nil {
			return nil, "", err
		}
	}
	s.Mailbox, err = sit(o, reg, e)
	return s, "", err
}

// elsewhere reports whether this session, which holds its agent, goes on in
// another process than the one that is known for it: that one was killed. Its
// name would seem free.
func (c *call) elsewhere(h identity.Holder) bool {
	if c.Kind != SessionStart && c.Kind != TurnStart {
		return false
	}
	now := c.holder()
	if now.PID == 0 || now == h {
		return false
	}
	p, alive := c.Procs.Process(h.PID)
	return !alive || p.Start != h.Start
}

func (c *call) open(dir string) (*office.Office, *registry.Registry, error) {
	o, err := office.Open(dir, c.Sys)
	if err != nil {
		return nil, nil, err
	}
	reg, err := o.Book()
	return o, reg, err
}

func (c *call) roll(o *office.Office) identity.Roll {
	return identity.Roll{User: c.User, Office: o.Dir, OfficeID: o.Config.ID}
}

func sit(o *office.Office, reg *registry.Registry, e registry.Entry) (*mailbox.Mailbox, error) {
	author, err := o.Author(e)
	if err != nil {
		return nil, err
	}
	return &mailbox.Mailbox{Office: o, Registry: reg, Author: author, Entry: e, Patience: lockWithin}, nil
}

// dir is where the session works.
func (c *call) dir() string {
	if filepath.IsAbs(c.Cwd) {
		return identity.Absolute(c.Cwd, ".")
	}
	return identity.Absolute(c.Dir, ".")
}

func under(dir, workspace string) bool {
	return workspace == "" || dir == workspace || strings.HasPrefix(dir, strings.TrimSuffix(workspace, string(filepath.Separator))+string(filepath.Separator))
}

// claim takes the free name that is registered for the runtime and the place.
// told: this session was told once already that it is a guest.
func (c *call) claim(told bool) (*seat, string, error) {
	dir, why, err := identity.Locate(c.User, "", c.env("POSTROOM_OFFICE"), c.dir(), config.Binding{})
	if err != nil {
		return nil, "", nil // this directory is nobody's: silence
	}
	if !identity.Vouched(c.User, dir, c.dir()) {
		return nil, "", identity.Unvouched(dir, why)
	}
	o, reg, err := c.open(dir)
	if mail.KindOf(err) == mail.KindNotFound {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	who := c.candidates(reg)
	if len(who) == 0 {
		return nil, "", nil
	}
	free, taken := c.free(o, who)
	roll := c.roll(o)
	switch {
	case len(free) == 1:
		if err := roll.Hold(c.holder(), free[0].AID, free[0].Name); err != nil {
			return nil, "", err
		}
		m, err := sit(o, reg, free[0])
		return &seat{m, roll, c.key, true}, "", err
	case c.oneShot():
		return nil, "", nil
	}
	if err := roll.BindGuest(c.key, ""); err != nil {
		return nil, "", err
	}
	switch {
	case told:
		return nil, "", nil
	case len(free) == 0:
		return nil, c.words().guest(names(taken)), nil
	}
	return nil, c.words().choose(names(free)), nil
}

// candidates are the agents that this session could be: the one that its
// environment names, else those of its runtime whose workspace is nearest.
func (c *call) candidates(reg *registry.Registry) []registry.Entry {
	runtime := c.Runtime.Name()
	if name := c.env("POSTROOM_AGENT"); name != "" {
		e, ok := reg.Entry(name)
		if !ok || e.Archived || e.Station != "" || e.Runtime != "" && e.Runtime != runtime {
			return nil
		}
		return []registry.Entry{e}
	}
	if c.oneShot() {
		return nil
	}
	entries := reg.Ours()
	for d := c.dir(); ; d = filepath.Dir(d) {
		var exact, any []registry.Entry
		for _, e := range entries {
			switch {
			case e.Archived || e.Workspace == "" || filepath.Clean(e.Workspace) != d:
			case e.Runtime == runtime:
				exact = append(exact, e)
			case e.Runtime == "":
				any = append(any, e)
			}
		}
		switch {
		case len(exact) > 0:
			return exact
		case len(any) > 0:
			return any
		case d == filepath.Dir(d):
			return nil
		}
	}
}

// free parts the candidates by whether another live session speaks as them. One
// that this very process, or the session that this one was forked from, spoke
// as goes before all others.
func (c *call) free(o *office.Office, who []registry.Entry) (free, taken []registry.Entry) {
	now := c.holder()
	for _, e := range who {
		h, held := c.roll(o).Holder(e.AID)
		switch {
		case held && c.holds(h, e, o):
			taken = append(taken, e)
			continue
		case held && now.PID != 0 && h.PID == now.PID && h.Start == now.Start,
			held && c.Parent != "" && h.Key == identity.SessionKeyOf(c.Runtime.Name(), c.Parent):
			return []registry.Entry{e}, taken
		}
		free = append(free, e)
	}
	return free, taken
}

// holds reports whether h, another session, lives and speaks as the agent.
func (c *call) holds(h identity.Holder, e registry.Entry, o *office.Office) bool {
	now := c.holder()
	if h.Key == c.key {
		return false
	}
	if h.PID != 0 {
		return h.Blocks(now, c.Procs)
	}
	return c.daemonHolds(h, e, o)
}

// daemonHolds is holds for a session of a shared daemon, which outlives its
// terminals and tells nobody when one of them goes: so the terminals are
// counted. One that was cleared has another session in the same terminal.
func (c *call) daemonHolds(h identity.Holder, e registry.Entry, o *office.Office) bool {
	runtime, _, _ := strings.Cut(h.Key, ":")
	var p presence.Session
	known := false
	if box, err := o.Box(e); err == nil {
		p, known, _ = presence.ReadIn(box.FS, box.Dir)
		known = known && identity.SessionKeyOf(p.Runtime, p.ID) == h.Key
	}
	if known && p.State == presence.Ended {
		return false
	}
	here := c.dir()
	if n, ok := identity.Terminals(c.Procs, runtime, here); ok {
		mine := 0
		if runtime == c.Runtime.Name() {
			mine = 1
		}
		if there := p.Cwd; known && there != "" && identity.Absolute(there, ".") != here {
			n, _ = identity.Terminals(c.Procs, runtime, identity.Absolute(there, "."))
			mine = 0
		}
		return n > mine
	}
	return known && (p.State == presence.Busy || p.State == presence.Dialog) && c.Sys.Now().Sub(p.At).Abs() < turnMax
}

func names(entries []registry.Entry) []string {
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		if len(out) == shownMax {
			return append(out, "…")
		}
		out = append(out, e.Name)
	}
	return out
}
