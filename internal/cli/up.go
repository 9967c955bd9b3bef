package cli

import (
	"context"
	"flag"
	"slices"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/roster"
)

const startLong = `The agent's launch command runs in its workspace, without a shell, with
POSTROOM_OFFICE and POSTROOM_AGENT set: in a window of the tmux session
postroom-OFFICE where there is tmux, else detached, with a bounded log. One
that runs already is left alone; so is one that runs in a terminal of its own.`

func upCommand() Command {
	return Command{
		Name: "up", Summary: "start the agents that do not run", Usage: "[NAME…] [--detached]", Person: true,
		Long: "Starts the named agents, or all that have a launch command.\n\n" + startLong,
		Examples: []string{
			"post agent set coder --launch claude",
			"post up",
			"post up coder tester",
		},
		Setup: starting(0),
	}
}

func startCommand() Command {
	return Command{Name: "start", Summary: "start agents", Usage: "NAME… [--detached]", Person: true, Long: startLong, Setup: starting(1)}
}

func starting(least int) func(fs *flag.FlagSet) Run {
	return func(fs *flag.FlagSet) Run {
		detached := fs.Bool("detached", false, "without tmux")
		return func(ctx context.Context, e *Env, args []string) error {
			if err := needArgs(e, args, least, -1); err != nil {
				return err
			}
			c, err := e.openRoster(*detached)
			if err != nil {
				return err
			}
			agents, err := c.pick(args)
			if err != nil {
				return err
			}
			return c.start(ctx, agents)
		}
	}
}

func stopCommand() Command {
	return Command{
		Name: "stop", Summary: "stop agents that post up or post start started", Usage: "NAME…", Person: true,
		Long: "Asks the agent's processes to end (SIGTERM), and kills after ten seconds those\nthat have not. What runs in a terminal of its own is not touched.",
		Setup: plain(func(ctx context.Context, e *Env, args []string) error {
			c, agents, err := e.named(args, false)
			if err != nil {
				return err
			}
			return c.stop(ctx, agents)
		}),
	}
}

func restartCommand() Command {
	return Command{
		Name: "restart", Summary: "stop agents, and start them again", Usage: "NAME… [--detached]", Person: true,
		Long: "As post stop and post start do it. One that does not run is started.",
		Setup: func(fs *flag.FlagSet) Run {
			detached := fs.Bool("detached", false, "without tmux")
			return func(ctx context.Context, e *Env, args []string) error {
				c, agents, err := e.named(args, *detached)
				if err != nil {
					return err
				}
				return c.restart(ctx, agents)
			}
		},
	}
}

// becomeCommand is what post start runs: the process that becomes the agent.
func becomeCommand() Command {
	return Command{
		Name: becomeName, Summary: "become an agent that post start started", Usage: "DIR AID TOKEN", Hidden: true,
		Setup: plain(func(ctx context.Context, e *Env, args []string) error {
			if err := needArgs(e, args, 3, 3); err != nil {
				return err
			}
			s, err := roster.Open(args[0], e.Live, e.System.Now)
			if err != nil {
				return err
			}
			return s.Become(ctx, args[1], args[2], e.Environ)
		}),
	}
}

const becomeName = "become"

// rosterView is what became of one agent (docs/json.md).
type rosterView struct {
	Agent  string       `json:"agent"`
	AID    string       `json:"aid"`
	State  string       `json:"state"` // running, stopped, ended, failed
	Was    bool         `json:"already"`
	How    string       `json:"how,omitempty"`
	PID    int          `json:"pid,omitempty"`
	Since  *time.Time   `json:"since,omitempty"`
	Why    string       `json:"why,omitempty"`
	Attach []string     `json:"attach,omitempty"`
	Error  *errorObject `json:"error,omitempty"`

	err error
	at  attachment
}

func viewStatus(name string, st roster.Status, was bool) rosterView {
	v := rosterView{Agent: name, AID: st.AID, State: string(st.State), Was: was, How: st.How, PID: st.PID(), Since: &st.At, Why: st.Ended}
	if st.Pane != nil && st.Alive {
		v.Attach, v.at = st.Pane.Attach(), attachment{st.Pane.Socket, st.Pane.Session}
	}
	return v
}

func rosterFailed(r registry.Entry, err error) rosterView {
	o := errorOf(err)
	return rosterView{Agent: r.Name, AID: r.AID, State: string(roster.Failed), Error: &o, err: err}
}

// text is the line that a person reads.
func (v rosterView) text(now time.Time) string {
	switch {
	case v.err != nil:
		return v.err.Error()
	case v.State == string(roster.Running) && v.How == ownTerminal:
		return v.Agent + " runs already, in a terminal of its own (process " + itoa(v.PID) + ")"
	case v.State == string(roster.Running) && v.Was:
		return v.Agent + " runs already (" + v.place() + ", since " + ago(now.Sub(*v.Since)) + ")"
	case v.State == string(roster.Running):
		return v.Agent + " started (" + v.place() + ")"
	case v.State == string(roster.Stopped) && !v.Was:
		return v.Agent + " stopped (" + v.Why + ")"
	}
	text := v.Agent + " is not running: it was stopped"
	switch v.State {
	case string(roster.Ended):
		text = v.Agent + " is not running: it ended"
	case string(roster.Failed):
		text = v.Agent + " is not running: it could not be started"
	}
	if v.Since != nil {
		text += " " + ago(now.Sub(*v.Since)) + " ago"
	}
	if v.Why != "" {
		text += " (" + v.Why + ")"
	}
	return text
}

func (v rosterView) place() string {
	if v.How == roster.InTmux {
		return "tmux, process " + itoa(v.PID)
	}
	return v.How + ", process " + itoa(v.PID)
}

// tell prints what became of the agents, and how to look at them, and returns
// the worst exit.
func (e *Env) tell(views []rosterView) error {
	code, at := mail.ExitOK, attachment{}
	for _, v := range views {
		if v.err != nil {
			code = worse(code, exitOf(v.err))
		}
		switch {
		case e.JSON:
			e.Out.Object(v)
		case v.err != nil:
			if err := e.Out.Flush(); err != nil {
				return err
			}
			e.Warn("%s", v.text(e.Now()))
		default:
			e.Out.Printf("%s\n", Line(v.text(e.Now())))
		}
		if len(v.Attach) > 0 {
			at = v.at
		}
	}
	if at.session != "" {
		e.Out.Say("look at them: %s", e.attachLine(at))
	}
	return Said(code)
}

// worse orders exits as design §6 does for several recipients.
func worse(a, b int) int {
	order := []int{mail.ExitOK, mail.ExitNotSurfaced, mail.ExitNotDelivered, mail.ExitRefused, mail.ExitStore}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
