package cli

import (
	"context"
	"flag"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/standing"
)

func agentsCommand() Command {
	return Command{
		Name: "agents", Summary: "list the agents: presence, unread mail, debts, how they are woken",
		Usage: "[--all]",
		Long: `Presence comes from evidence: what the session's hooks said last, whether its
process runs, and what the agent did with its mail.

  active        it did something within the last ten minutes
  idle          it waits at its prompt
  busy          a turn is running
  at a dialog   it waits for its person to allow something
  stale         nothing was heard for a day
  down          its session has ended, or its process is gone
  not seen yet  it never said anything

Behind: its oldest unread mail is older than an answer may take, or an answer
of its is overdue. "post agent show NAME" has the evidence.`,
		Setup: func(fs *flag.FlagSet) Run {
			all := fs.Bool("all", false, "the archived too")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				return runAgents(ctx, e, *all)
			}
		},
	}
}

func runAgents(ctx context.Context, e *Env, all bool) error {
	o, reg, err := e.openRegistry()
	if err != nil {
		return err
	}
	x, err := e.Looker(o)
	if err != nil {
		return err
	}
	entries := slices.DeleteFunc(reg.Entries(), func(r registry.Entry) bool { return r.Archived && !all })
	hidden := len(reg.Entries()) - len(entries)
	slices.SortFunc(entries, func(a, b registry.Entry) int { return strings.Compare(a.Name, b.Name) })
	var views []standing.Agent
	for _, r := range entries {
		v := x.Look(ctx, r)
		if e.JSON {
			e.Out.Object(v)
			continue
		}
		views = append(views, v)
	}
	switch {
	case e.JSON:
	case len(views) == 0:
		e.Out.Say("no agents yet; next: in the directory where one works, run\n  post join NAME")
	default:
		e.agentTable(views)
	}
	if hidden > 0 && !e.JSON {
		e.Out.Say("%d archived: post agents --all", hidden)
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ago shows an age in its largest unit.
func ago(d time.Duration) string { return mail.Age(d) }
