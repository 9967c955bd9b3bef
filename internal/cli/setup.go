package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/install"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/standing"
)

func setupCommand() Command {
	return Command{
		Name: "setup", Summary: "start here: office, runtimes, the next line to type", Usage: "[RUNTIME]",
		Long: `Finds the office, or makes your default one, which all your repositories share;
looks which coding CLIs are on this machine and whether they are set up to call
post; and prints the next line to type, until the agent of this directory is
ready. It changes nothing else: run it whenever you want to know what is next.

Where several coding CLIs are installed, RUNTIME says which one works here.`,
		Examples: []string{"post setup", "post setup claude"},
		Setup:    plain(runSetup),
	}
}

// setupReport is where a user stands.
type setupReport struct {
	Office   string      `json:"office"`
	Why      string      `json:"why"`
	Made     bool        `json:"made"`
	Runtimes []string    `json:"runtimes"`
	Runtime  string      `json:"runtime,omitempty"` // of the agent here
	Agent    string      `json:"agent,omitempty"`
	Steps    []setupStep `json:"steps"`
	Ready    bool        `json:"ready"`
	Next     string      `json:"next"`
	// Or are other lines that may be meant instead of Next.
	Or []string `json:"or,omitempty"`

	others []registry.Entry // who else is in the office
}

// setupStep is one of office, install, join, start.
type setupStep struct {
	Step string `json:"step"`
	Done bool   `json:"done"`
	Say  string `json:"say"`            // how it stands
	Line string `json:"line,omitempty"` // what to type, if it is not done
	Note string `json:"note,omitempty"`
}

func runSetup(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 1); err != nil {
		return err
	}
	r := setupReport{Runtimes: e.installed()}
	if len(args) == 1 {
		if r.Runtime = args[0]; !slices.Contains(identity.Runtimes(), r.Runtime) {
			return usageError(e.name, quote(r.Runtime)+" is no runtime", "say "+strings.Join(identity.Runtimes(), ", "))
		}
	}
	o, err := e.officeOrNew(&r)
	if err != nil {
		return err
	}
	r.Office = o.Dir
	if err := e.setupSteps(ctx, o, &r); err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(r)
		return nil
	}
	e.setupReport(r)
	return nil
}

// setupSteps finds out what is done and what is next.
func (e *Env) setupSteps(ctx context.Context, o *office.Office, r *setupReport) error {
	reg, err := o.Registry()
	if err != nil {
		return err
	}
	here, isHere, err := e.agentHere(o, reg, r.Runtime)
	if err != nil {
		return err
	}
	r.Runtime = cmp.Or(r.Runtime, here.Runtime, identity.Runtime(e.Getenv, e.above()))
	if r.Runtime == "" && len(r.Runtimes) == 1 && !isHere {
		r.Runtime = r.Runtimes[0]
	}
	r.Steps = append(r.Steps, setupStep{Step: "office", Done: true, Say: r.Office})
	if r.Runtime == "" && len(r.Runtimes) > 1 && !isHere {
		r.Next, r.Or = "post setup "+r.Runtimes[0], prefixed("post setup ", r.Runtimes[1:])
		return nil
	}
	if slices.Contains(install.Runtimes(), r.Runtime) {
		r.Steps = append(r.Steps, e.installStep(ctx, r.Runtime))
	}
	join := setupStep{Step: "join", Done: isHere, Say: "no agent works in this directory yet", Line: e.joinLine(reg, r.Runtime)}
	if isHere {
		r.Agent = here.Name
		join.Say, join.Line = "the agent here is "+here.Name, ""
	}
	r.Steps = append(r.Steps, join)
	if isHere && here.Runtime != "" {
		start, err := e.startStep(ctx, o, here)
		if err != nil {
			return err
		}
		r.Steps = append(r.Steps, start)
	}
	r.others = slices.DeleteFunc(reg.Entries(), func(o registry.Entry) bool { return o.Archived || o.Speaks() || isHere && o.AID == here.AID })
	r.Next, r.Ready = "post inbox", true
	if i := slices.IndexFunc(r.Steps, func(s setupStep) bool { return !s.Done }); i >= 0 {
		r.Next, r.Ready = r.Steps[i].Line, false
	}
	return nil
}

func prefixed(prefix string, words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, prefix+w)
	}
	return out
}

// agentHere is the agent of this directory, of the runtime if one is given.
func (e *Env) agentHere(o *office.Office, reg *registry.Registry, runtime string) (registry.Entry, bool, error) {
	me, err := e.MeIn(o, reg)
	if err == nil && !me.Human && (runtime == "" || me.Entry.Runtime == runtime) {
		return me.Entry, true, nil
	}
	switch mail.KindOf(err) {
	case "", mail.KindIdentity, mail.KindAmbiguous:
	default:
		return registry.Entry{}, false, err
	}
	dir := identity.Absolute(e.Dir, ".")
	for _, r := range reg.Ours() {
		if !r.Archived && r.Workspace == dir && runtime != "" && r.Runtime == runtime {
			return r, true, nil
		}
	}
	return registry.Entry{}, false, nil
}

// installStep looks whether the runtime calls post.
func (e *Env) installStep(ctx context.Context, runtime string) setupStep {
	s := setupStep{Step: "install", Say: runtime + " does not call post yet", Line: "post install " + runtime,
		Note: "adds hooks, the MCP server and rules for the mail verbs to its settings; --dry-run shows them"}
	in := installing{scope: string(install.User)}
	err := in.begin(e)
	var state installState
	if err == nil {
		state, err = in.state(ctx, e, runtime)
	}
	switch {
	case err != nil:
		s.Say, s.Note = err.Error(), ""
	case state.wrong():
		i := slices.IndexFunc(state.Findings, func(f installFault) bool { return !f.Choice })
		s.Say, s.Line, s.Note = state.Findings[i].What, state.Findings[i].Fix, ""
		if runtime == "codex" && strings.HasSuffix(s.Line, "--trust-hooks") {
			s.Note = "or start codex and say yes when it asks; until then it leaves them out, and codex exec says nothing of it"
		}
	case state.Installed:
		s.Done, s.Say, s.Line, s.Note = true, runtime+" calls post (post install --check looks closer)", "", ""
	}
	return s
}

// startStep looks whether the agent's session was ever heard of.
func (e *Env) startStep(ctx context.Context, o *office.Office, r registry.Entry) (setupStep, error) {
	x, err := e.Looker(o)
	if err != nil {
		return setupStep{}, err
	}
	v := x.Look(ctx, r)
	s := setupStep{Step: "start", Done: v.Presence != standing.NotSeen && v.Presence != standing.Down, Say: r.Name + " is " + v.Presence, Line: programOf(r.Runtime)}
	if s.Done {
		s.Line = ""
		return s, nil
	}
	s.Note = "start it here as you always do; it learns by itself who it is"
	if r.Runtime == "codex" {
		s.Note = "start it here as you always do, and type once in it: Codex tells us of a session with its first turn"
	}
	return s, nil
}

func (e *Env) setupReport(r setupReport) {
	made := ""
	if r.Made {
		made = "made "
	}
	e.Out.Printf("office    %s%s (%s)\n", made, Line(r.Office), Line(r.Why))
	e.Out.Printf("runtimes  %s\n", dash(strings.Join(r.Runtimes, ", ")))
	e.Out.Printf("agent     %s\n", dash(r.Agent))
	for _, s := range r.Steps {
		if s.Step == "office" {
			continue
		}
		mark := "to do"
		if s.Done {
			mark = e.Out.Green("done ")
		}
		e.Out.Say("  %s %-8s%s", mark, s.Step, Line(s.Say))
	}
	if len(r.Or) > 0 {
		e.Out.Say("next: which of them works in this directory?")
		for _, line := range append([]string{r.Next}, r.Or...) {
			e.Out.Printf("  %s\n", line)
		}
		return
	}
	if r.Ready {
		e.ready(r)
		return
	}
	e.Out.Say("next:")
	e.Out.Printf("  %s\n", Line(r.Next))
	for _, s := range r.Steps {
		if !s.Done && s.Line == r.Next && s.Note != "" {
			e.Out.Say("  (%s)", Line(s.Note))
		}
	}
	again := "post setup"
	if r.Agent == "" && len(r.Runtimes) > 1 {
		again += " " + r.Runtime
	}
	e.Out.Say("then run %s again: it says what comes after", again)
}

// ready says what can be done now, here and in a terminal without an agent.
func (e *Env) ready(r setupReport) {
	e.Out.Say("ready: mail for %s comes into its sessions by itself", r.Agent)
	switch {
	case len(r.others) == 0:
		e.Out.Say("nobody else is in the office yet: run post setup in another repository")
	default:
		var names []string
		for _, o := range r.others {
			names = append(names, o.Name)
		}
		e.Out.Say("in the same office: %s; tell your agent to write to one of them", strings.Join(names, ", "))
	}
	e.Out.Say("as yourself, in any terminal:\n" +
		"  post agents                                          who is there\n" +
		"  post send " + r.Agent + " --as human -s Hello -m \"How is it going?\"\n" +
		"  post approvals                                       what is asked of you; post answer ID\n" +
		"next:")
	e.Out.Printf("  %s\n", r.Next)
}

// officeOrNew finds the office; a person who has none gets the default one.
func (e *Env) officeOrNew(r *setupReport) (o *office.Office, err error) {
	dir, why, err := e.FindOffice()
	if err == nil {
		r.Why = why
		return office.Open(dir, e.System)
	}
	if mail.KindOf(err) != mail.KindNotFound {
		return nil, err
	}
	if err := e.RequirePerson(config.PersonCheckFull); err != nil {
		return nil, err
	}
	if dir, _, err = e.newOfficeDir(nil); err != nil {
		return nil, err
	}
	if o, r.Made, err = office.Create(dir, e.System, office.CreateOptions{}); err != nil {
		return nil, err
	}
	r.Why = "your default office"
	e.warnFilesystem(o.Dir)
	return o, e.User().SetDefaultOffice(o.Dir)
}

// installed lists the runtimes whose program is on PATH.
func (e *Env) installed() []string {
	found := []string{}
	for _, r := range identity.Runtimes() {
		if e.onPath(executable(programOf(r))) != "" {
			found = append(found, r)
		}
	}
	return found
}

// joinLine is the join to type here: named after the directory, under a name
// that is free.
func (e *Env) joinLine(reg *registry.Registry, runtime string) string {
	name := nameFrom(filepath.Base(identity.Absolute(e.Dir, ".")))
	if _, taken := reg.Entry(name); taken {
		name = freeName(reg, name)
	}
	if runtime != "" {
		return "post join " + name + " --runtime " + runtime
	}
	return "post join " + name
}

// nameFrom makes a valid agent name of a directory's name.
func nameFrom(base string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(base) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-.")
	if name, err := mail.ParseName(name[:min(len(name), 32)]); err == nil {
		return name
	}
	return "coder"
}
