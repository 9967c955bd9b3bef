package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/presence"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/roster"
	"github.com/postroom/postroom/internal/standing"
)

// ownTerminal is how an agent runs that nobody started here.
const ownTerminal = "terminal"

// settling is how long started programs are watched: what ends at once has not
// started.
const settling = 400 * time.Millisecond

// crew is an office's agents, as they are started and stopped.
type crew struct {
	e      *Env
	office *office.Office
	reg    *registry.Registry
	store  *roster.Store
	tmux   string // its path; "" runs agents detached
}

// rosterDir is where this user keeps what was started in an office.
func (e *Env) rosterDir(o *office.Office) string { return e.RosterDir(o.Config.ID) }

// RosterDir is rosterDir by the office's id.
func (e *Env) RosterDir(officeID string) string {
	return filepath.Join(e.User().Dir, "roster", officeID)
}

func (e *Env) openRoster(detached bool) (*crew, error) {
	o, reg, err := e.openRegistry()
	if err != nil {
		return nil, err
	}
	store, err := roster.Open(e.rosterDir(o), e.Live, e.System.Now)
	if err != nil {
		return nil, err
	}
	c := &crew{e: e, office: o, reg: reg, store: store}
	if !detached {
		c.tmux, _ = e.lookPath("tmux")
	}
	return c, nil
}

// named is openRoster for commands that want names.
func (e *Env) named(args []string, detached bool) (*crew, []registry.Entry, error) {
	if err := needArgs(e, args, 1, -1); err != nil {
		return nil, nil, err
	}
	c, err := e.openRoster(detached)
	if err != nil {
		return nil, nil, err
	}
	agents, err := c.pick(args)
	return c, agents, err
}

// pick finds the agents that were named, each once; without names, all that
// have a launch command. One name that is nobody's refuses all.
func (c *crew) pick(names []string) ([]registry.Entry, error) {
	var out []registry.Entry
	for _, n := range names {
		r, err := findAgent(c.reg, c.e.name, n)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(o registry.Entry) bool { return o.AID == r.AID }) {
			out = append(out, r)
		}
	}
	if len(names) > 0 {
		return out, nil
	}
	for _, r := range c.reg.Ours() {
		if !r.Archived && len(r.Launch) > 0 {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b registry.Entry) int { return strings.Compare(a.Name, b.Name) })
	if len(out) == 0 {
		return nil, &mail.Error{Op: c.e.name, Kind: mail.KindNotFound, Err: errors.New("no agent has a launch command"),
			Hint: "give one to an agent: post agent set NAME --launch PROGRAM"}
	}
	return out, nil
}

// start starts agents and says what became of each. What runs is what the
// registry names, so nothing is started from an office that may not be written:
// one that came with a repository was made by somebody else.
func (c *crew) start(ctx context.Context, agents []registry.Entry) error {
	if err := c.office.CheckWritable(); err != nil {
		return err
	}
	self, err := c.e.Executable()
	if err != nil {
		return err
	}
	s := &roster.Starter{Store: c.store, Self: self, Entry: []string{becomeName}, Environ: c.e.Environ, Tmux: c.tmux}
	var views []rosterView
	var fresh []string
	for _, r := range agents {
		v := c.startOne(ctx, s, r)
		if v.err == nil && !v.Was {
			fresh = append(fresh, r.AID)
		}
		views = append(views, v)
	}
	settled := s.Settle(ctx, fresh, settling)
	for i, v := range views {
		st, ok := settled[v.AID]
		switch {
		case !ok:
		case st.Alive:
			views[i] = viewStatus(v.Agent, st, false)
		default:
			views[i] = rosterFailed(agents[i], endedAtOnce(v.Agent, st))
		}
	}
	return c.e.tell(views)
}

func endedAtOnce(name string, st roster.Status) error {
	why := "it ended at once"
	if st.Ended != "" {
		why += " (" + st.Ended + ")"
	}
	hint := "see post logs " + name
	if st.How == roster.Detached {
		hint += "; a program that wants a terminal needs tmux"
	}
	return &mail.Error{Op: "start", Kind: mail.KindStore, Addr: name, Err: errors.New(why), Hint: hint}
}

// workerOf reports whether an agent's program is kept by postd serve.
func workerOf(r registry.Entry) bool { return len(r.Notify) > 0 && r.Notify[0] == notify.KindACP }

// asStarted is what the roster needs to know of an agent.
func (c *crew) asStarted(r registry.Entry) roster.Agent {
	return roster.Agent{Name: r.Name, AID: r.AID, Office: c.office.Dir, OfficeID: c.office.Config.ID,
		Workspace: r.Workspace, Launch: r.Launch, Worker: workerOf(r)}
}

func (c *crew) startOne(ctx context.Context, s *roster.Starter, r registry.Entry) rosterView {
	if r.Archived {
		return rosterFailed(r, &mail.Error{Op: "start", Kind: mail.KindConflict, Addr: r.Name, Err: errors.New("is archived"),
			Hint: "put it back into service first: post agent unarchive " + r.Name})
	}
	if program := identity.ProgramOf(r.Runtime); len(r.Launch) == 0 && program != "" {
		return rosterFailed(r, &mail.Error{Op: "start", Kind: mail.KindNotFound, Addr: r.Name, Err: errors.New("it has no launch command"),
			Hint: "give it one: post agent set " + r.Name + " --launch " + program})
	}
	if st, ok, err := s.Status(ctx, r.AID); err != nil || !ok || !st.Alive {
		if p, is := c.elsewhere(r); is {
			return rosterView{Agent: r.Name, AID: r.AID, State: string(roster.Running), Was: true, How: ownTerminal, PID: p.PID, Since: &p.Since}
		}
	}
	if _, kept := c.store.KeptBy(); workerOf(r) && !kept {
		return rosterFailed(r, &mail.Error{Op: "start", Kind: mail.KindConflict, Addr: r.Name,
			Err: errors.New("it is a worker, which postd serve keeps, and none runs for this office"), Hint: "start it: post serve"})
	}
	st, err := s.Start(ctx, c.asStarted(r))
	if err != nil {
		return rosterFailed(r, err)
	}
	return viewStatus(r.Name, st.Status, st.Already)
}

// elsewhere reports whether a session of the agent lives, whoever started it.
func (c *crew) elsewhere(r registry.Entry) (presence.Session, bool) {
	box, err := c.office.Box(r)
	if err != nil {
		return presence.Session{}, false
	}
	p, ok := standing.Heard(box)
	return p, ok && p.State != presence.Ended && standing.Lives(c.e.Procs, p) == standing.Runs
}

func (c *crew) stop(ctx context.Context, agents []registry.Entry) error {
	views, err := c.stopEach(ctx, agents, false)
	if err != nil {
		return err
	}
	return c.e.tell(views)
}

// stopEach stops agents. With idle, one that was never started here is fine if
// it does not run elsewhere either.
func (c *crew) stopEach(ctx context.Context, agents []registry.Entry, idle bool) ([]rosterView, error) {
	s := &roster.Stopper{Store: c.store, Tmux: c.tmux, Grace: roster.Grace}
	var views []rosterView
	for _, r := range agents {
		st, ran, err := s.Stop(ctx, r.Name, r.AID)
		if workerOf(r) && errors.Is(err, roster.ErrNotOurs) {
			st, err = c.store.Forbid(ctx, c.asStarted(r))
		}
		p, runs := c.elsewhere(r)
		switch {
		case err == nil && (ran || !runs):
			views = append(views, viewStatus(r.Name, st, !ran))
		case runs:
			views = append(views, rosterFailed(r, &mail.Error{Op: c.e.name, Kind: mail.KindConflict, Addr: r.Name,
				Err:  errors.New("it runs as process " + itoa(p.PID) + ", which post did not start, so it is not stopped"),
				Hint: "end it in the terminal where it runs"}))
		case errors.Is(err, roster.ErrNotOurs) && idle:
			views = append(views, rosterView{Agent: r.Name, AID: r.AID, State: string(roster.Stopped), Was: true})
		default:
			views = append(views, rosterFailed(r, err))
		}
	}
	return views, nil
}

func (c *crew) restart(ctx context.Context, agents []registry.Entry) error {
	views, err := c.stopEach(ctx, agents, true)
	if err != nil {
		return err
	}
	var down []registry.Entry
	var failed []rosterView
	for i, v := range views {
		if v.err != nil {
			failed = append(failed, v)
			continue
		}
		down = append(down, agents[i])
	}
	if len(failed) == 0 {
		return c.start(ctx, down)
	}
	err = c.e.tell(failed)
	if len(down) > 0 {
		err = errors.Join(c.start(ctx, down), err)
	}
	return Said(exitOf(err))
}

// lookPath finds a program on PATH, of which only absolute directories count.
func (e *Env) lookPath(name string) (string, bool) {
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		path := filepath.Join(dir, executable(name))
		if fi, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}

// attachLine is the command that shows a session of tmux, as short as it may be.
func (e *Env) attachLine(p attachment) string {
	if here, _, _ := strings.Cut(e.Getenv("TMUX"), ","); here == p.socket {
		return "tmux switch-client -t " + p.session
	}
	dir := e.Getenv("TMUX_TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	if filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid()), "default") == p.socket {
		return "tmux attach -t " + p.session
	}
	return "tmux -S " + shellWord(p.socket) + " attach -t " + p.session
}

// attachment is a session of a tmux server.
type attachment struct{ socket, session string }

// shellWord writes a path so that a shell takes it as one word.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@:,=", r)
	}
	if s != "" && strings.TrimLeftFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
