package cli

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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
		e.Out.Printf("%s", overview(e.table.All()))
		return nil
	}
	table, cmd := e.table.All(), Command{}
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
	if cmd.Postd {
		if _, err := e.findPostd(); err == nil { // it knows more of it
			return e.execPostd(strings.Fields(name))
		}
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
	program, what := "post", "durable mail between coding agents"
	if !slices.ContainsFunc(table, func(c Command) bool { return c.Postd }) { // what post hands over is what the second program has
		program, what = "postd", "what Postroom has besides mail: an always-on router, an audit in git"
	}
	fmt.Fprintf(&b, "%s: %s\n\nusage: %s COMMAND [ARGUMENT…] [FLAG…]\n", program, what, program)
	heading := ""
	for i, c := range table {
		if c.Hidden {
			continue
		}
		switch {
		case c.Group != heading:
			b.WriteString("\n" + c.Group + ":\n\n")
		case i == 0:
			b.WriteString("\n")
		}
		heading = c.Group
		b.WriteString(list(table[i : i+1]))
	}
	b.WriteString("\nEverywhere:\n\n")
	b.WriteString(flagHelp(globalFlags()))
	b.WriteString("\nTopics, by \"post help TOPIC\":\n\n")
	b.WriteString(list(topicCommands()))
	return b.String()
}

// list is names and summaries in two columns.
func list(table []Command) string {
	var b strings.Builder
	for _, c := range table {
		if !c.Hidden {
			b.WriteString(entry(c.Name, 13, c.Summary))
		}
	}
	return b.String()
}

// helpWidth is how wide help may be, in characters.
const helpWidth = 80

// entry is a name in a column of some width and a text beside it, which goes
// on under itself where it is too long for a line.
func entry(name string, width int, text string) string {
	line := fmt.Sprintf("  %-*s", width-1, name)
	return fill(line, strings.Repeat(" ", width+2), strings.Fields(text))
}

// fill puts words behind start, with as many lines as they need; those after
// the first begin with indent.
func fill(start, indent string, words []string) string {
	var b strings.Builder
	line := start
	for i, w := range words {
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > helpWidth {
			b.WriteString(line + "\n")
			line = indent + w
			continue
		}
		line += " " + w
	}
	return b.String() + line + "\n"
}

// usageLine is how a command is called. A line is broken before a bracket only.
func usageLine(name, usage string) string {
	words := strings.Split("post "+name+" "+usage, " [")
	for i := range words[1:] {
		words[i+1] = "[" + words[i+1]
	}
	return strings.TrimRight(fill("usage:", "         ", words), " \n") + "\n"
}

// commandHelp is the help of one command.
func commandHelp(name string, c Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "post %s: %s\n\n", name, c.Summary)
	if c.Subs == nil || c.Setup != nil {
		b.WriteString(usageLine(name, c.Usage))
	}
	if c.Subs != nil {
		fmt.Fprintf(&b, "usage: post %s COMMAND …\n\n", name)
		b.WriteString(list(c.Subs))
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
		b.WriteString(entry(name, 21, usage))
	})
	return b.String()
}
