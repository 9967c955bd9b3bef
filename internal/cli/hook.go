package cli

import (
	"context"
	"flag"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/postroom/postroom/internal/hook"
)

func hookCommand() Command {
	return Command{
		Name: "hook", Summary: "answer a hook of a coding CLI", Usage: "RUNTIME [EVENT]", Hidden: true, FailsOpen: true,
		Long: `Coding CLIs run this; "post install" sets it up. It reads what the runtime says
on standard input and tells the session of its mail, if there is any: at the
start, at a prompt, between two tool calls, and before it stops. With nothing to
say it prints nothing.

It never stands in the way: whatever goes wrong, it exits with 0 and leaves a
line for post doctor. Only to wake Claude Code it exits with 2.`,
		Examples: []string{"post hook claude", "post hook codex", "post hook copilot agentStop"},
		Setup: func(*flag.FlagSet) Run {
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 1, 2); err != nil {
					return err
				}
				return e.runHook(ctx, args[0], args[1:])
			}
		},
	}
}

func (e *Env) runHook(ctx context.Context, name string, args []string) error {
	table := hook.Runtimes()
	r, ok := table[name]
	if !ok {
		return usageError(e.name, "no such runtime: "+quote(name), "say one of "+strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	h := &hook.Hook{Runtime: r, User: e.User(), Getenv: e.Getenv, Procs: e.Procs, Dir: e.Dir, Sys: e.System, Program: e.program,
		Path: func() string {
			self, err := e.Executable()
			if err != nil {
				return ""
			}
			return self
		},
		Route: e.dispatcher, Stdin: e.Stdin, Stdout: deadPipe{e.Stdout}, Stderr: e.Stderr, Shut: e.StdoutShut, Abort: os.Exit}
	if code := h.Run(ctx, args); code != 0 {
		return Said(code)
	}
	return nil
}

// deadPipe is written to without dying where nobody reads it any more. What is
// started afterwards shall die of that as ever, so it is asked for no longer.
type deadPipe struct{ io.Writer }

func (d deadPipe) Write(p []byte) (int, error) {
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	return d.Writer.Write(p)
}

// failOpen makes every error but a said one a line in the log. Who types the
// command at a terminal is told.
func (e *Env) failOpen(err error) error {
	if _, told := err.(said); err == nil || told {
		return err
	}
	hook.Note(e.User(), e.Now(), e.name+": "+err.Error())
	if e.StdinTTY {
		e.Warn("%v", err)
	}
	return nil
}
