package cli

import (
	"context"
	"flag"
	"fmt"
	"strings"
)

func helpCommand() Command {
	return Command{
		Name: "help", Summary: "explain a command or a topic", Usage: "[COMMAND | TOPIC]",
		Setup: plain(func(_ context.Context, e *Env, args []string) error {
			return e.showHelp(strings.Join(args, " "))
		}),
	}
}

// showHelp prints the help of a command, a topic or, for "", of everything.
func (e *Env) showHelp(name string) error {
	if name == "" {
		e.Out.Printf("%s", overview(e.table))
		return nil
	}
	table, cmd := e.table, Command{}
	for i, word := range strings.Fields(name) {
		c, ok := find(table, word)
		if !ok {
			if t, is := topic(name); is {
				e.Out.Printf("%s", t)
				return nil
			}
			return unknownCommand(append(table, topicCommands()...), strings.Join(strings.Fields(name)[:i], " "), word)
		}
		cmd, table = c, c.Subs
	}
	e.Out.Printf("%s", commandHelp(name, cmd))
	if t, is := topic(name); is { // office is both
		e.Out.Printf("\n%s", t)
	}
	return nil
}

// overview is what `post help` prints.
func overview(table []Command) string {
	var b strings.Builder
	b.WriteString("post: durable mail between coding agents\n\nusage: post COMMAND [ARGUMENT…] [FLAG…]\n\n")
	for _, here := range []bool{true, false} {
		if !here {
			b.WriteString("\nWith postd installed:\n\n")
		}
		for _, c := range table {
			if c.Hidden || c.Postd == here {
				continue
			}
			fmt.Fprintf(&b, "  %-12s %s\n", c.Name, c.Summary)
		}
	}
	b.WriteString("\nEverywhere:\n\n")
	b.WriteString(flagHelp(globalFlags()))
	b.WriteString("\nTopics, by \"post help TOPIC\":\n\n")
	for _, t := range topicCommands() {
		fmt.Fprintf(&b, "  %-12s %s\n", t.Name, t.Summary)
	}
	return b.String()
}

// commandHelp is the help of one command.
func commandHelp(name string, c Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "post %s: %s\n\n", name, c.Summary)
	if c.Subs != nil {
		fmt.Fprintf(&b, "usage: post %s COMMAND …\n\n", name)
		for _, s := range c.Subs {
			if !s.Hidden {
				fmt.Fprintf(&b, "  %-12s %s\n", s.Name, s.Summary)
			}
		}
	} else {
		b.WriteString("usage: " + strings.TrimSpace("post "+name+" "+c.Usage) + "\n")
	}
	if c.Person {
		b.WriteString("\nA person's command: refused inside an agent's session.\n")
	}
	if c.Long != "" {
		b.WriteString("\n" + strings.TrimSpace(c.Long) + "\n")
	}
	if fs := commandFlags(c); fs != nil {
		if text := flagHelp(fs); text != "" {
			b.WriteString("\nFlags:\n\n" + text)
		}
	}
	if len(c.Examples) > 0 {
		b.WriteString("\nExamples:\n\n")
		for _, x := range c.Examples {
			b.WriteString("  " + x + "\n")
		}
	}
	return b.String()
}

// commandFlags declares a command's own flags, for help and completion.
func commandFlags(c Command) *flag.FlagSet {
	if c.Setup == nil {
		return nil
	}
	fs := newFlagSet(c.Name)
	c.Setup(fs)
	return fs
}

func globalFlags() *flag.FlagSet {
	fs := newFlagSet("post")
	new(Globals).declare(fs)
	return fs
}

// flagHelp lists flags: name, value, what it does, the default if it has one.
func flagHelp(fs *flag.FlagSet) string {
	var b strings.Builder
	fs.VisitAll(func(f *flag.Flag) {
		if f.Name == "h" {
			return
		}
		value, usage := flag.UnquoteUsage(f)
		name := dashed(f.Name)
		if bf, ok := f.Value.(boolFlag); (!ok || !bf.IsBoolFlag()) && value != "" {
			name += " " + value
		}
		if f.Name == "help" {
			name = "-h, --help"
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" {
			usage += " (default " + d + ")"
		}
		fmt.Fprintf(&b, "  %-20s %s\n", name, usage)
	})
	return b.String()
}
