package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
)

func joinCommand() Command {
	return Command{
		Name: "join", Summary: "register an agent",
		Usage: "NAME [--role TEXT] [--runtime RT] [--workspace DIR] [--mailbox DIR] [--notify KIND[:ARG]] [--launch ARG]…",
		Long: `Gives NAME a mailbox in the office and makes the working directory, or
--workspace, its workspace: commands run there act as NAME. Joining again with
the same name and workspace changes nothing but the flags that are given.

A person may join any agent. An agent's session may join by itself and for
itself only: a free name, its own runtime, the working directory, the runtime's
own way of being woken, nothing to be executed.

--mailbox DIR puts the mailbox into a directory that a sandboxed agent can
write; the directory must be new or empty, and is tried first.
--notify says how the agent is woken: claude, codex, opencode or copilot (the
runtime's own way, the default for its agents), qwen:FILE, tmux or tmux:PANE
(typed into its terminal, the last resort), exec:PROGRAM, webhook:URL, acp (a
headless worker that postd serve keeps), none; a further argument is a further
--notify :ARG. See post help wake.
--launch gives the command with which "post up" starts the agent, one argument
each. Without it, it is the runtime's program, where a person joins the agent
and that program is on PATH.`,
		Examples: []string{
			"post join coder --role \"writes the code\" --runtime claude",
			"post join tester --mailbox .mail --notify tmux:team:0.1",
			"post join builder --launch make --launch watch",
			"post join worker --runtime opencode --notify acp",
		},
		Setup: func(fs *flag.FlagSet) Run {
			var j joining
			fs.StringVar(&j.role, "role", "", "what the agent does, in `TEXT`")
			fs.StringVar(&j.runtime, "runtime", "", "the coding CLI it is, as `RT`: claude, codex, gemini, …")
			fs.StringVar(&j.workspace, "workspace", "", "the `DIR` it works in (default: this one)")
			fs.StringVar(&j.mailbox, "mailbox", "", "the `DIR` of its mailbox (default: in the office)")
			fs.Var(&j.notify, "notify", "`KIND[:ARG]`: how it is woken (default: by its runtime, else none)")
			fs.Var(&j.launch, "launch", "one `ARG` of the command that starts it")
			fs.BoolVar(&j.takeover, "takeover", false, "move an agent that works elsewhere to this workspace")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 1, 1); err != nil {
					return err
				}
				j.name = args[0]
				return j.run(ctx, e)
			}
		},
	}
}

// joining is one join under way.
type joining struct {
	name, role, runtime, workspace, mailbox string
	notify, launch                          List
	takeover                                bool

	session bool // by an agent's session, for itself
	entry   registry.Entry
	made    bool     // it is new
	beside  []string // who else works there and cannot be told from it by its runtime
}

func (j *joining) run(ctx context.Context, e *Env) error {
	name, err := mail.ParseName(strings.TrimPrefix(j.name, "agent."))
	if err != nil {
		return err
	}
	j.name = name
	o, err := e.Office()
	if err != nil {
		return err
	}
	_, j.session = identity.InAgentSession(e.Getenv, e.above(), e.personCheck())
	if j.session {
		if err := j.ownOnly(e); err != nil {
			return err
		}
	}
	j.defaults(e)
	if err := e.Change(ctx, o, func(c *Change) error {
		err := j.register(e, c)
		j.beside = beside(c.Reg.Entries(), j.entry)
		return err
	}); err != nil {
		return err
	}
	j.bind(e, o)
	j.report(e, o)
	return nil
}

// ownOnly refuses what an agent's session may not do by itself (design §11).
func (j *joining) ownOnly(e *Env) error {
	own, here := identity.Runtime(e.Getenv, e.above()), identity.Absolute(e.Dir, ".")
	why := ""
	switch {
	case j.runtime != "" && j.runtime != own:
		why = "another runtime than its own (" + own + ")"
	case j.workspace != "" && identity.Absolute(e.Dir, j.workspace) != here:
		why = "another workspace than the one it stands in"
	case len(j.launch) > 0:
		why = "a command to launch"
	case j.takeover:
		why = "a name that another agent has"
	case len(j.notify) > 0 && !(len(j.notify) == 1 && (j.notify[0] == "none" || j.notify[0] == own)):
		why = "another way of being woken than none or " + own
	case j.mailbox != "" && !inside(identity.Absolute(e.Dir, j.mailbox), here):
		why = "a mailbox outside its workspace"
	case e.As != "" && e.As != j.name:
		why = "another agent"
	}
	if why == "" {
		return nil
	}
	return &mail.Error{Op: e.name, Kind: mail.KindPerson, Addr: j.name,
		Err:  errors.New("an agent's session joins for itself only, not with " + why),
		Hint: "leave that out, or ask your person to run the command"}
}

func inside(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

func (j *joining) defaults(e *Env) {
	j.workspace = identity.Absolute(e.Dir, j.workspace)
	if j.mailbox != "" {
		j.mailbox = identity.Absolute(e.Dir, j.mailbox)
	}
	if j.runtime == "" && j.session {
		j.runtime = identity.Runtime(e.Getenv, e.above())
	}
}

// register makes the mailbox durable and then names it.
func (j *joining) register(e *Env, c *Change) error {
	woken, err := e.wokenBy(j.notify)
	if err != nil {
		return err
	}
	if known, ok := c.Reg.Entry(j.name); ok {
		return j.again(e, c, known, woken)
	}
	if err := j.unbound(e, c, ""); err != nil {
		return err
	}
	if len(woken) == 0 {
		woken = e.ownWake(j.runtime)
	}
	if err := j.asWorker(woken); err != nil {
		return err
	}
	if program := identity.ProgramOf(j.runtime); len(j.launch) == 0 && program != "" && !j.session { // a command to run is a person's word (design §11)
		if _, there := e.lookPath(program); there {
			j.launch = List{program}
		}
	}
	box := filepath.Join(c.Office.Dir, office.AgentsDir, j.name)
	switch {
	case j.mailbox == "":
	case inside(j.mailbox, c.Office.Dir) || j.mailbox == c.Office.Dir:
		return &mail.Error{Op: e.name, Kind: mail.KindInvalid, Addr: j.mailbox,
			Err: errors.New("lies in the office"), Hint: "leave out --mailbox; the office has a place for it"}
	default:
		box = j.mailbox
	}
	j.entry = registry.Entry{
		AID: newAID(), Name: j.name, Role: j.role, Runtime: j.runtime, Workspace: j.workspace,
		InboxPath: filepath.Join(box, spool.Inbox), Transcript: "_inbox_" + j.name + ".md",
		Notify: woken, Launch: j.launch, Joined: c.now,
	}
	if err := c.Reg.Add(j.entry); err != nil {
		return suggestFree(err, c.Reg, j.name)
	}
	if err := makeBox(c.Office, j.entry); err != nil {
		return err
	}
	j.made = true
	c.Record(journal.Record{Event: journal.Joined, Agent: j.name, AID: j.entry.AID, Detail: map[string]string{
		"runtime": j.runtime, "workspace": j.workspace, "inbox": j.entry.InboxPath, "notify": strings.Join(woken, " "),
		"launch": strings.Join(j.launch, " "), "by": j.by(),
	}})
	return nil
}

// asWorker says how the program of a headless worker is started, where nobody
// did.
func (j *joining) asWorker(how []string) error {
	if len(how) == 0 || how[0] != notify.KindACP || len(j.launch) > 0 {
		return nil
	}
	if j.launch = workerLaunch(j.runtime); len(j.launch) == 0 {
		return usageError("join", "--notify acp wants the program of the worker", "say --launch PROGRAM, and a further --launch for each argument; or --runtime opencode, gemini, qwen or copilot")
	}
	return nil
}

// workerLaunch is how a runtime speaks the Agent Client Protocol, nil if it is
// not known.
func workerLaunch(runtime string) []string {
	switch runtime {
	case "opencode":
		return []string{"opencode", "acp"}
	case "gemini", "qwen", "copilot":
		return []string{runtime, "--acp"}
	}
	return nil
}

// launchFits changes the launch command with the way of being woken, where it is
// the one that nobody said.
func launchFits(r *registry.Entry) {
	terminal, worker := []string{identity.ProgramOf(r.Runtime)}, workerLaunch(r.Runtime)
	switch {
	case worker == nil:
	case workerOf(*r) && (len(r.Launch) == 0 || slices.Equal(r.Launch, terminal)):
		r.Launch = worker
	case !workerOf(*r) && slices.Equal(r.Launch, worker):
		r.Launch = terminal
	}
}

func (j *joining) by() string {
	if j.session {
		return "the session itself"
	}
	return "a person"
}

// makeBox makes what the agent's mailbox lacks.
func makeBox(o *office.Office, e registry.Entry) error {
	dir := filepath.Dir(e.InboxPath)
	if !inside(dir, o.Dir) {
		return o.MakeOutside(dir, e.Name, e.AID)
	}
	box, err := o.Box(e)
	if err == nil {
		err = box.Make()
	}
	if err != nil {
		return &mail.Error{Op: "make mailbox", Kind: mail.KindStore, Addr: dir, Err: err}
	}
	return nil
}

// again is a join under a name that is taken: by the same agent, it is fine.
func (j *joining) again(e *Env, c *Change, known registry.Entry, woken []string) error {
	taken := func(why, hint string) error {
		return &mail.Error{Op: e.name, Kind: mail.KindConflict, Addr: j.name, Err: errors.New(why), Hint: hint}
	}
	free := freeName(c.Reg, j.name)
	switch {
	case known.Name != j.name:
		return taken("is an earlier name of "+known.Name+", and stays its own", "choose another name, such as "+free)
	case known.Archived:
		return taken("is archived, and its name stays its own", `a person can run "post agent unarchive `+j.name+`"; else choose another name, such as `+free)
	case known.Workspace != j.workspace && !j.takeover:
		hint := "choose another name, such as " + free
		if !j.session {
			hint += ", or move the agent here with --takeover"
		}
		return taken("is taken by an agent that works in "+known.Workspace, hint)
	case j.runtime != "" && known.Runtime != "" && known.Runtime != j.runtime && !j.takeover:
		return taken("is registered here as "+known.Runtime+", not "+j.runtime, "choose another name, such as "+free+`, or run "post agent set `+j.name+` --runtime `+j.runtime+`"`)
	case j.mailbox != "" && j.mailbox != filepath.Dir(known.InboxPath):
		return taken("has its mailbox in "+filepath.Dir(known.InboxPath), "leave out --mailbox; a mailbox stays where it is")
	}
	if err := j.unbound(e, c, known.AID); err != nil {
		return err
	}
	err := c.Reg.Update(known.AID, func(r *registry.Entry) {
		r.Workspace = j.workspace
		setIf(&r.Role, j.role)
		setIf(&r.Runtime, j.runtime)
		if len(woken) > 0 {
			r.Notify = woken
		}
		if len(j.launch) > 0 {
			r.Launch = j.launch
		} else if len(woken) > 0 {
			launchFits(r)
		}
	})
	if err != nil {
		return err
	}
	j.entry, _ = c.Reg.EntryByAID(known.AID)
	return makeBox(c.Office, j.entry) // what went missing comes back
}

// unbound refuses a session that is another agent, and a name that another
// session holds.
func (j *joining) unbound(e *Env, c *Change, aid string) error {
	if !j.session {
		return nil
	}
	if b, ok := e.User().Session(e.SessionKey()); ok && b.Office == c.Office.Dir && b.Agent != aid {
		return &mail.Error{Op: e.name, Kind: mail.KindIdentity, Addr: j.name,
			Err: errors.New("this session is " + b.Name + " already"), Hint: "go on as " + b.Name + "; one session is one agent"}
	}
	if aid != "" && e.heldByOther(c.Office, aid) {
		return &mail.Error{Op: e.name, Kind: mail.KindConflict, Addr: j.name,
			Err: errors.New("another live session speaks as it already"),
			Hint: "join under another name, such as " + freeName(c.Reg, j.name) +
				"; a person can run post join " + j.name + " --takeover"}
	}
	return nil
}

// bind records what was decided in the user's state. The join stands without
// it, so trouble is only said.
func (j *joining) bind(e *Env, o *office.Office) {
	user := e.User()
	_, why, _ := e.FindOffice()
	var errs []error
	known, has := user.Workspace(j.workspace)
	switch {
	case strings.HasPrefix(why, identity.LocalOffice) || has && known.Office == o.Dir:
	case has && j.session:
		e.Warn("this workspace stays bound to %s; use --office %s here", known.Office, o.Dir)
	default:
		errs = append(errs, user.BindWorkspace(j.workspace, config.Binding{Office: o.Dir}))
	}
	switch {
	case j.session:
		errs = append(errs, e.hold(o, j.entry))
	case e.Getenv(identity.SessionEnv) != "":
		errs = append(errs, user.BindSession(e.SessionKey(), config.Binding{Office: o.Dir, Agent: j.entry.AID, Name: j.entry.Name}))
	case j.takeover:
		errs = append(errs, e.release(o, j.entry))
	}
	if err := errors.Join(errs...); err != nil {
		e.Warn("joined, but %v; until then say --office %s --as %s", err, o.Dir, j.name)
	}
}

func setIf(to *string, value string) {
	if value != "" {
		*to = value
	}
}

func newAID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return "a-" + hex.EncodeToString(b[:])
}
