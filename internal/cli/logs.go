package cli

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/roster"
)

// logTick is how often a log that is followed is looked at.
const logTick = 250 * time.Millisecond

func logsCommand() Command {
	return Command{
		Name: "logs", Summary: "show what a started agent printed", Usage: "NAME [-n N] [-f] [--raw]", Person: true,
		Long: `Of an agent in tmux, what its window shows and showed; of a detached one, the
end of its log, of which about 2 MB are kept. Control characters are made
visible.`,
		Setup: func(fs *flag.FlagSet) Run {
			var l logs
			fs.IntVar(&l.n, "n", 40, "the last `N` lines")
			fs.BoolVar(&l.follow, "f", false, "go on, and print what comes, until interrupted")
			fs.BoolVar(&l.raw, "raw", false, "with the control characters that it printed")
			return func(ctx context.Context, e *Env, args []string) error {
				if err := needArgs(e, args, 1, 1); err != nil {
					return err
				}
				if l.n < 0 {
					return usageError(e.name, "-n cannot be negative", "usage: post logs "+e.cmd.Usage)
				}
				return l.run(ctx, e, args[0])
			}
		},
	}
}

type logs struct {
	n           int
	follow, raw bool

	e     *Env
	agent registry.Entry
	held  string // a line that has no end yet
}

func (l *logs) run(ctx context.Context, e *Env, name string) error {
	c, err := e.openRoster(false)
	if err != nil {
		return err
	}
	if l.agent, err = findAgent(c.reg, e.name, name); err != nil {
		return err
	}
	l.e = e
	st, ok, err := c.store.Status(ctx, l.agent.AID)
	if err != nil {
		return err
	}
	if !ok {
		return l.none("it was not started by post up or post start, so its output is in its own terminal", "look there")
	}
	if st.How == roster.InTmux {
		return l.screen(ctx, st)
	}
	log, err := c.store.Log(l.agent.AID)
	if err != nil {
		return err
	}
	text, at, err := log.Tail(l.n)
	if errors.Is(err, fs.ErrNotExist) {
		return l.none("nothing was kept", "start it again: post start "+l.agent.Name)
	}
	if err != nil {
		return err
	}
	l.print(string(text))
	if !l.follow {
		l.rest()
		return nil
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	return l.goOn(ctx, log, at)
}

func (l *logs) none(why, hint string) error {
	return &mail.Error{Op: l.e.name, Kind: mail.KindNotFound, Addr: l.agent.Name, Err: errors.New(why), Hint: hint}
}

// goOn prints what comes until ctx ends.
func (l *logs) goOn(ctx context.Context, log roster.Log, at roster.Place) error {
	for {
		if err := l.e.Out.Flush(); err != nil {
			return err
		}
		if l.e.Sleep(ctx, logTick) != nil {
			l.rest()
			return nil
		}
		text, next, err := log.From(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			at = next
			l.print(string(text))
		}
	}
}

// screen prints what the agent's window shows.
func (l *logs) screen(ctx context.Context, st roster.Status) error {
	if st.Pane == nil || st.Leader == nil {
		return l.none("its window is not known", "see post agent show "+l.agent.Name)
	}
	if l.follow {
		return usageError(l.e.name, "-f is for agents without a terminal", "look at "+l.agent.Name+" itself: "+l.e.attachLine(attachment{st.Pane.Socket, st.Pane.Session})+", window "+l.agent.Name)
	}
	text, err := st.Pane.Screen(ctx, st.Leader.PID, l.raw)
	if err != nil {
		return l.none(err.Error(), "start it again: post start "+l.agent.Name)
	}
	lines := slices.CompactFunc(strings.Split(strings.TrimRight(text, "\n "), "\n"), func(a, b string) bool {
		return strings.TrimSpace(a+b) == "" // what is left of a high window is empty
	})
	l.print(strings.Join(lines[max(0, len(lines)-l.n):], "\n") + "\n")
	return nil
}

// print prints whole lines and keeps the rest for later.
func (l *logs) print(text string) {
	text = l.held + text
	end := strings.LastIndexByte(text, '\n') + 1
	l.held = text[end:]
	for line := range strings.Lines(text[:end]) {
		l.line(strings.TrimSuffix(line, "\n"))
	}
}

func (l *logs) rest() {
	if l.held != "" {
		l.line(l.held)
		l.held = ""
	}
}

func (l *logs) line(s string) {
	s = strings.TrimSuffix(s, "\r")
	switch {
	case l.e.JSON:
		l.e.Out.Object(struct {
			Agent string `json:"agent"`
			Line  string `json:"line"`
		}{l.agent.Name, s})
	case l.raw:
		l.e.Out.Printf("%s\n", s)
	default:
		l.e.Out.Printf("%s\n", Line(s))
	}
}
