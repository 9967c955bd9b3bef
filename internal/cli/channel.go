package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/journal"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
)

func channelCommand() Command {
	return Command{
		Name: "channel", Summary: "make, change or list channels",
		Long: `A channel is a name for several agents: mail to it goes into each member's
inbox and into the channel's transcript. The same members, in any order, are
the same channel.`,
		Subs: []Command{
			{Name: "create", Summary: "make a channel of agents", Usage: "NAME AGENT…", Person: true,
				Examples: []string{"post channel create backend coder tester"}, Setup: plain(runChannelCreate)},
			{Name: "add", Summary: "add agents to a channel", Usage: "NAME AGENT…", Person: true, Setup: plain(runChannelAdd)},
			{Name: "remove", Summary: "take agents out of a channel, or end it", Usage: "NAME [AGENT…]", Person: true,
				Long: "Without agents the channel itself ends; what was said in it stays.", Setup: plain(runChannelRemove)},
			{Name: "list", Summary: "list the channels and their members", Setup: plain(runChannelList)},
		},
	}
}

// changeChannel changes channel args[0] with the agents that follow.
func (e *Env) changeChannel(ctx context.Context, args []string, what string, fn func(c *Change, name string, aids []string) error) error {
	o, err := e.Office()
	if err != nil {
		return err
	}
	var view channelView
	err = e.Change(ctx, o, func(c *Change) error {
		var aids, names []string
		for _, a := range args[1:] {
			r, err := findAgent(c.Reg, e.name, o.Canonical(c.Reg, a))
			if err != nil {
				return err
			}
			if local, _ := mail.SplitStation(r.Name); r.Station != "" && mail.Reserved(local) {
				return &mail.Error{Op: e.name, Kind: mail.KindRule, Addr: r.Name, Err: errors.New("is no agent"), Hint: "a channel has agents, here or there: post agents"}
			}
			aids, names = append(aids, r.AID), append(names, r.Name)
		}
		if err := fn(c, args[0], aids); err != nil {
			return err
		}
		c.Record(journal.Record{Event: journal.Channel, Detail: map[string]string{
			"channel": args[0], "change": what, "agents": strings.Join(names, " "),
		}})
		view = viewChannel(c.Reg, args[0])
		return nil
	})
	if err != nil {
		return err
	}
	if e.JSON {
		e.Out.Object(view)
		return nil
	}
	if len(view.Members) == 0 {
		e.Out.Say("%s has no members", view.Name)
		return nil
	}
	e.Out.Say("%s: %s", view.Name, strings.Join(view.Members, ", "))
	return nil
}

func runChannelCreate(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 2, -1); err != nil {
		return err
	}
	return e.changeChannel(ctx, args, "created", func(c *Change, name string, aids []string) error {
		return c.Reg.AddChannel(name, aids...)
	})
}

func runChannelAdd(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 2, -1); err != nil {
		return err
	}
	return e.changeChannel(ctx, args, "added", func(c *Change, name string, aids []string) error {
		for _, a := range aids {
			if err := c.Reg.AddMember(name, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func runChannelRemove(ctx context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 1, -1); err != nil {
		return err
	}
	what := "removed"
	if len(args) == 1 {
		what = "ended"
	}
	return e.changeChannel(ctx, args, what, func(c *Change, name string, aids []string) error {
		if len(aids) == 0 {
			return c.Reg.RemoveChannel(name)
		}
		for _, a := range aids {
			if err := c.Reg.RemoveMember(name, a); err != nil {
				return err
			}
		}
		return nil
	})
}

type channelView struct {
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

func viewChannel(reg *registry.Registry, name string) channelView {
	v := channelView{Name: name, Members: []string{}}
	c, _ := reg.Channel(name)
	for _, aid := range c.Members {
		a, _ := reg.ByAID(aid)
		v.Members = append(v.Members, a.Name)
	}
	slices.Sort(v.Members)
	return v
}

func runChannelList(_ context.Context, e *Env, args []string) error {
	if err := needArgs(e, args, 0, 0); err != nil {
		return err
	}
	_, reg, err := e.openRegistry()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, c := range reg.Channels() {
		v := viewChannel(reg, c.Name)
		if e.JSON {
			e.Out.Object(v)
		}
		rows = append(rows, []string{v.Name, strings.Join(v.Members, ", ")})
	}
	switch {
	case e.JSON:
	case len(rows) == 0:
		e.Out.Say("no channels yet")
	default:
		e.Out.Table([]string{"CHANNEL", "MEMBERS"}, rows)
	}
	return nil
}
