package cli

import (
	"context"
	"flag"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Run performs a command. args are what is left when the flags are taken out;
// flags may have stood anywhere among them.
type Run func(ctx context.Context, e *Env, args []string) error

// Command is one verb, or a group of verbs.
type Command struct {
	Name    string
	Summary string // one line, no full stop
	Usage   string // what follows the name: "TO[,TO…] [--act ACT] …"
	Long    string // paragraphs, wrapped by hand at 76 columns
	// Examples are whole command lines, each perhaps with a comment behind #.
	Examples []string
	// Person commands are refused inside an agent's session (design §11).
	Person bool
	// Sends: errors are said as design §6 wants them ("FAILED(kind): …").
	Sends bool
	// FailsOpen: a program runs it that would stop its user's work for an error.
	// Nothing but what Said says is ever told by the exit code.
	FailsOpen bool
	// Group is the heading under which the list of commands has it.
	Group string
	// Hidden commands stand in no list.
	Hidden bool
	// Postd commands live in the second program (design §2).
	Postd bool
	// Setup declares the command's flags and returns what runs it.
	Setup func(fs *flag.FlagSet) Run
	// Subs makes this a group: the next word chooses. With Setup, too, the group
	// does something by itself where the next word is none of these.
	Subs []Command
}

// plain is a Setup without flags.
func plain(run Run) func(*flag.FlagSet) Run {
	return func(*flag.FlagSet) Run { return run }
}

// find descends the table along words and returns the command and its full
// name. The last word of path is the one that could not be found.
func find(table []Command, name string) (Command, bool) {
	for _, c := range table {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// names lists what may be typed at this place.
func names(table []Command) []string {
	var list []string
	for _, c := range table {
		if !c.Hidden {
			list = append(list, c.Name)
		}
	}
	return list
}

// unknownCommand is the error for a verb that does not exist.
func unknownCommand(table []Command, prefix, word string) error {
	hint := seeHelp("")
	if prefix != "" {
		hint = "say " + strings.Join(names(table), ", ")
	}
	if near := mail.Suggest(word, names(table)); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return usageError(strings.TrimSpace(prefix+" "+word), "unknown command", hint)
}
