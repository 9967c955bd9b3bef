package cli

import (
	"context"
	"errors"
	"flag"
	"strings"

	"github.com/postroom/postroom/internal/identity"
	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
)

func agentCommand() Command {
	return Command{
		Name: "agent", Summary: "show, change, archive or rename an agent",
		Long: `An agent's name is its own for ever: a renamed agent's old name stays its
alias, an archived one's name is given to nobody else.`,
		Subs: []Command{
			{Name: "show", Summary: "show everything about an agent", Usage: "NAME", Setup: plain(runAgentShow)},
			agentSetCommand(),
			{Name: "archive", Summary: "take an agent out of service", Usage: "NAME", Person: true,
				Long:  "Its mail is kept, and mail to it is still stored; a sender who expects an\nanswer is told that nobody is there.",
				Setup: plain(archiver(true))},
			{Name: "unarchive", Summary: "put an agent back into service", Usage: "NAME", Person: true, Setup: plain(archiver(false))},
			{Name: "rename", Summary: "give an agent a new name; the old one stays its alias", Usage: "NAME NEWNAME",
				Person: true, Setup: plain(runAgentRename)},
		},
	}
}

// findAgent finds an agent by name, alias or agent.NAME; by a plain name also the
// one agent of another station that has it there, if it is nobody's here.
func findAgent(reg *registry.Registry, op, name string) (registry.Entry, error) {
	r, ok := reg.Entry(name)
	if !ok {
		r, ok = reg.Entry(strings.TrimPrefix(name, "agent."))
	}
	if ok {
		return r, nil
	}
	switch far := reg.Namesakes(strings.TrimPrefix(name, "agent.")); {
	case len(far) == 1:
		if r, ok = reg.EntryByAID(far[0].AID); ok {
			return r, nil
		}
	case len(far) > 1:
		names := agentNames(far)
		return r, &mail.Error{Op: op, Kind: mail.KindAmbiguous, Addr: name, Err: errors.New("is nobody here, and several agents at other stations"),
			Hint: "say which: " + strings.Join(names[:min(len(names), 8)], ", ")}
	}
	err := &mail.Error{Op: op, Kind: mail.KindUnknown, Addr: name, Hint: `see "post agents"`}
	if near := reg.Suggest(name); len(near) > 0 {
		err.Hint = "did you mean " + near[0] + "?"
	}
	return r, err
}

func runAgentShow(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, 1); err != nil {
		return err
	}
	o, reg, err := e.openRegistry()
	if err != nil {
		return err
	}
	r, err := findAgent(reg, e.name, args[0])
	if err != nil {
		return err
	}
	x, err := e.Looker(o)
	if err != nil {
		return err
	}
	v := x.Look(ctx, r)
	if e.JSON {
		e.Out.Object(v)
		return nil
	}
	for _, f := range v.Fields(e.Now()) {
		if f[1] != "" {
			e.Out.Printf("%-10s %s\n", f[0], Line(f[1]))
		}
	}
	return nil
}

func agentSetCommand() Command {
	return Command{
		Name: "set", Summary: "change what is registered of an agent", Person: true,
		Usage: "NAME [--role TEXT] [--runtime RT] [--workspace DIR] [--notify KIND[:ARG]] [--launch ARG]… [--no-launch]",
		Examples: []string{
			"post agent set coder --notify tmux:team:0.1",
			"post agent set coder --launch claude --launch --continue",
		},
		Setup: func(fs *flag.FlagSet) Run {
			var s agentSet
			fs.StringVar(&s.role, "role", "", "what the agent does, in `TEXT`")
			fs.StringVar(&s.runtime, "runtime", "", "the coding CLI it is, as `RT`")
			fs.StringVar(&s.workspace, "workspace", "", "the `DIR` it works in")
			fs.Var(&s.notify, "notify", "`KIND[:ARG]`: how it is woken")
			fs.Var(&s.launch, "launch", "one `ARG` of the command that starts it")
			fs.BoolVar(&s.noLaunch, "no-launch", false, "forget the command that starts it")
			return s.run
		},
	}
}

type agentSet struct {
	role, runtime, workspace string
	notify, launch           List
	noLaunch                 bool
}

func (s *agentSet) run(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, 1); err != nil {
		return err
	}
	notify, err := e.wokenBy(s.notify)
	if err != nil {
		return err
	}
	if s.workspace != "" {
		s.workspace = identity.Absolute(e.Dir, s.workspace)
	}
	return e.changeAgent(ctx, args[0], func(c *Change, r registry.Entry) (string, error) {
		err := c.Reg.Update(r.AID, func(r *registry.Entry) {
			setIf(&r.Role, s.role)
			setIf(&r.Runtime, s.runtime)
			setIf(&r.Workspace, s.workspace)
			if len(notify) > 0 {
				r.Notify = notify
			}
			if len(s.launch) > 0 || s.noLaunch {
				r.Launch = s.launch
			} else if len(notify) > 0 {
				launchFits(r)
			}
		})
		return r.Name + " is changed", err
	})
}

// changeAgent finds an agent under the lease, changes it and says what became
// of it.
func (e *Env) changeAgent(ctx context.Context, name string, fn func(*Change, registry.Entry) (string, error)) error {
	o, err := e.Office()
	if err != nil {
		return err
	}
	var said string
	var now registry.Entry
	err = e.Change(ctx, o, func(c *Change) error {
		r, err := findAgent(c.Reg, e.name, name)
		if err != nil {
			return err
		}
		if r.Station != "" {
			return &mail.Error{Op: e.name, Kind: mail.KindRule, Addr: r.Name, Err: errors.New("is an agent of station " + r.Station),
				Hint: "what it is called and does is said there; this office is told over the link"}
		}
		if said, err = fn(c, r); err != nil {
			return err
		}
		now, _ = c.Reg.EntryByAID(r.AID)
		return nil
	})
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(entryView(now))
		return nil
	}
	e.Out.Say("%s", Line(said))
	return nil
}

// entryView shows a registry entry without looking into its mailbox.
func entryView(r registry.Entry) any {
	return struct {
		Name      string   `json:"name"`
		AID       string   `json:"aid"`
		Role      string   `json:"role,omitempty"`
		Runtime   string   `json:"runtime,omitempty"`
		Workspace string   `json:"workspace,omitempty"`
		Notify    []string `json:"notify"`
		Launch    []string `json:"launch,omitempty"`
		Archived  bool     `json:"archived"`
		Aliases   []string `json:"aliases,omitempty"`
	}{r.Name, r.AID, r.Role, r.Runtime, r.Workspace, r.Notify, r.Launch, r.Archived, r.Aliases}
}

func archiver(archived bool) Run {
	what, detail := "archived", map[string]string{"archived": "true"}
	if !archived {
		what, detail = "in service", map[string]string{"archived": "false"}
	}
	return func(ctx context.Context, e *Env, args []string) error {
		if err := needArgs(e, args, 1, 1); err != nil {
			return err
		}
		return e.changeAgent(ctx, args[0], func(c *Change, r registry.Entry) (string, error) {
			if r.Archived == archived {
				return r.Name + " is " + what + " already", nil
			}
			c.Record(journal.Record{Event: journal.Archived, Agent: r.Name, AID: r.AID, Detail: detail})
			return r.Name + " is " + what, c.Reg.Archive(r.AID, archived)
		})
	}
}

func runAgentRename(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 2, 2); err != nil {
		return err
	}
	if _, err := mail.ParseName(args[1]); err != nil {
		return err
	}
	return e.changeAgent(ctx, args[0], func(c *Change, r registry.Entry) (string, error) {
		if r.Name == args[1] {
			return r.Name + " has that name already", nil
		}
		if err := c.Reg.Rename(r.AID, args[1]); err != nil {
			return "", suggestFree(err, c.Reg, args[1])
		}
		c.Record(journal.Record{Event: journal.Renamed, Agent: args[1], AID: r.AID, Detail: map[string]string{"from": r.Name}})
		return r.Name + " is " + args[1] + " now; " + r.Name + " stays its alias", nil
	})
}

// openRegistry opens the office and its registry for reading.
func (e *Env) openRegistry() (*office.Office, *registry.Registry, error) {
	o, err := e.Office()
	if err != nil {
		return nil, nil, err
	}
	reg, err := o.Book()
	return o, reg, err
}
