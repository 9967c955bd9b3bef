package cli

import (
	"cmp"
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
		Usage: "[--all] [--local]",
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
of its is overdue. "post agent show NAME" has the evidence.

Agents of other stations stand behind those of this office, as name@station:
how they stand, their own office knows. "On the way" is mail that has not
arrived there. A plain name is ours where we have it.`,
		Setup: func(fs *flag.FlagSet) Run {
			var x agentList
			fs.BoolVar(&x.all, "all", false, "the archived too, and each one of other stations")
			fs.BoolVar(&x.local, "local", false, "those of this office only")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 0, 0); err != nil {
					return err
				}
				return x.run(ctx, e)
			}
		},
	}
}

// agentList is what post agents lists.
type agentList struct{ all, local bool }

// farShown is up to how many agents of other stations are listed one by one.
const farShown = 40

func (l agentList) run(ctx context.Context, e *Env) error {
	o, reg, err := e.openRegistry()
	if err != nil {
		return err
	}
	x, err := e.Looker(o)
	if err != nil {
		return err
	}
	entries, hidden := l.pick(reg)
	var views []standing.Agent
	far := 0
	for _, r := range entries {
		v := x.Look(ctx, r)
		if e.JSON {
			e.Out.Object(v)
			continue
		}
		if views = append(views, v); v.Station != "" {
			far++
		}
	}
	switch {
	case e.JSON:
		return nil
	case len(views) == 0:
		e.Out.Say("no agents yet; next: in the directory where one works, run\n  post join NAME")
	case far > farShown && !l.all:
		e.agentTable(views[:len(views)-far])
		e.stations(views[len(views)-far:])
	default:
		e.agentTable(views)
	}
	e.clashes(views)
	if hidden > 0 {
		e.Out.Say("%d archived: post agents --all", hidden)
	}
	return nil
}

// pick chooses whom to list, ours first, then station by station, and counts the
// archived that are left out.
func (l agentList) pick(reg *registry.Registry) (list []registry.Entry, hidden int) {
	entries := reg.Entries
	if l.local {
		entries = reg.Ours
	}
	for _, r := range entries() {
		switch {
		case r.Speaks():
		case r.Archived && !l.all:
			hidden++
		default:
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b registry.Entry) int {
		return cmp.Or(strings.Compare(a.Station, b.Station), strings.Compare(a.Name, b.Name))
	})
	return list, hidden
}

// stations sums up the agents of other stations where there are many.
func (e *Env) stations(far []standing.Agent) {
	e.Out.Say("")
	for len(far) > 0 {
		name, leaving, n := far[0].Station, 0, 0
		for n < len(far) && far[n].Station == name {
			leaving += far[n].Leaving
			n++
		}
		text := itoa(n) + " at " + name
		if leaving > 0 {
			text += ", " + itoa(leaving) + " on the way there"
		}
		e.Out.Say("%s", text)
		far = far[n:]
	}
	e.Out.Say("each of them: post agents --all")
}

// clashes says of names that are ours and another station's too whom they mean.
func (e *Env) clashes(views []standing.Agent) {
	ours := map[string]bool{}
	for _, v := range views {
		ours[v.Name] = ours[v.Name] || v.Station == ""
	}
	for _, v := range views {
		if local, station := mail.SplitStation(v.Name); station != "" && ours[local] {
			e.Out.Say("%s", e.Out.Dim(Line(local+" here, "+v.Name+" there: plain "+local+" is ours")))
		}
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ago shows an age in its largest unit.
func ago(d time.Duration) string { return mail.Age(d) }
