package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// Main runs one command line, without the program's name, and returns the exit
// code (design §6).
func Main(ctx context.Context, e *Env, table Table, args []string) int {
	e.table, e.Out = table, newOutput(e.Stdout)
	err := e.dispatch(ctx, args)
	if e.cmd.FailsOpen {
		err = e.failOpen(err)
	}
	if e.cmd.Sends {
		err = notStored(err) // what was stored has been told of by now
	}
	if ferr := e.Out.Flush(); ferr != nil && (err == nil || exitOf(err) != mail.ExitStore) {
		err = ferr
	}
	e.complain(err)
	return exitOf(err)
}

// complain tells about an error that nobody told about yet.
func (e *Env) complain(err error) {
	if err == nil {
		return
	}
	if _, told := err.(said); told {
		return
	}
	if e.JSON {
		e.Out.Write(jsonError(err))
		if e.Out.Flush() == nil {
			return
		}
	}
	text := "post: " + err.Error()
	switch {
	case mail.KindOf(err) == mail.KindUsage:
		text = strings.Replace("post "+err.Error(), "post :", "post:", 1)
	case e.cmd.Sends:
		text = FailedLine(err)
	}
	fmt.Fprintln(e.Stderr, Line(text))
}

// dispatch finds the verb, takes the flags out and runs it.
func (e *Env) dispatch(ctx context.Context, args []string) error {
	e.JSON = wantsJSON(args)
	table, words := e.table, []string(nil)
	for {
		fs := newFlagSet("post")
		e.Globals.declare(fs)
		p := parser{fs: fs, cmd: strings.Join(words, " "), stop: true}
		rest, err := p.parse(args)
		if e.cmd.Setup != nil && (err != nil || len(rest) == 0 || !slices.Contains(names(table.All()), rest[0])) {
			return e.run(ctx, args) // a group that does something by itself
		}
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			return e.groupHelp(words)
		}
		cmd, ok := table.find(rest[0])
		if !ok {
			return unknownCommand(table.All(), strings.Join(words, " "), rest[0])
		}
		words = append(words, cmd.Name)
		e.cmd, e.name, args = cmd, strings.Join(words, " "), rest[1:]
		switch {
		case cmd.Postd:
			return e.execPostd(args)
		case cmd.Subs == nil:
			return e.run(ctx, args)
		}
		table = tableOf(cmd.Subs)
	}
}

// run parses the flags of the command that was found, and runs it.
func (e *Env) run(ctx context.Context, args []string) error {
	fs := newFlagSet(e.name)
	e.Globals.declare(fs)
	run := e.cmd.Setup(fs)
	p := parser{fs: fs, cmd: e.name}
	rest, err := p.parse(args)
	if e.Help {
		return e.showHelp(e.name)
	}
	if err != nil {
		return err
	}
	e.Out.json, e.Out.quiet, e.Out.width = e.JSON, e.Quiet, e.Width
	e.Out.colour = e.StdoutTTY && !e.JSON && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
	if e.cmd.Person {
		if err := e.RequirePerson(e.personCheck()); err != nil {
			return err
		}
	}
	return run(ctx, e, rest)
}

// groupHelp answers a line that ends before a verb.
func (e *Env) groupHelp(words []string) error {
	if e.Help || len(words) == 0 {
		return e.showHelp(strings.Join(words, " "))
	}
	return usageError(e.name, "which one? "+strings.Join(names(e.cmd.Subs), ", "), seeHelp(e.name))
}

// wantsJSON looks for --json ahead of parsing, so that a wrong flag before it
// is reported in JSON too.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json", "-json":
			return true
		}
	}
	return false
}
