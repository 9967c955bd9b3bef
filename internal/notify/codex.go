package notify

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// KindCodex is the kind of agents that are sessions of the Codex CLI.
const KindCodex = "codex"

// Codex wakes a session by `codex queue`: the message waits durably and starts
// a turn when the session is idle. Accepted (exit 0) is not read; that the
// hooks say. It is never used for a thread of `codex exec`, which destroys what
// is queued, nor after the person's Esc, nor while a question is open, nor
// while a turn runs that shows the mail anyway.
//
// Notify[1], if given, is the program.
type Codex struct {
	Getenv func(string) string // nil is os.Getenv
}

// Kind returns KindCodex.
func (Codex) Kind() string { return KindCodex }

// Check makes the program's path absolute.
func (c Codex) Check(args []string) ([]string, error) {
	switch {
	case len(args) == 0:
		return nil, nil
	case len(args) > 1:
		return nil, usage(KindCodex, "takes one argument, the program", "write codex, or codex:/absolute/path")
	case !filepath.IsAbs(args[0]) || !runnable(args[0]):
		return nil, usage(KindCodex, "no program to run: "+line(args[0], 80), "write codex:/absolute/path")
	}
	return args, nil
}

// isThread reports whether s looks like a session's id: never an option, never
// a path.
func isThread(s string) bool {
	ok := len(s) >= 8 && len(s) <= 64 && s[0] != '-'
	for _, c := range []byte(s) {
		ok = ok && (alnum(c) || c >= 'A' && c <= 'Z' || c == '-' || c == '_')
	}
	return ok
}

// Notify implements Adapter.
func (c Codex) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindCodex, agent, err.Error(), "")
	}
	s := agent.Session
	if s == nil {
		return Fail(KindCodex, agent, "not seen yet: type once in it",
			"codex runs its hooks from its first turn on, and only when they are trusted")
	}
	why := notLive(KindCodex, s)
	if why == "" && !isThread(s.ID) {
		why = "its session's id is not one of codex"
	}
	if why != "" {
		return Fail(KindCodex, agent, why, "")
	}
	if why = untouchable(s); why == "" {
		why = turn(s, time.Now())
	}
	if why != "" {
		return Outcome{Held, line("codex: "+why, evidenceMax)}, nil
	}
	program, why := c.program(agent)
	if why != "" {
		return Fail(KindCodex, agent, why, "put codex on PATH, or join again with --notify codex:/absolute/path")
	}
	return c.queue(ctx, agent, program, s, announcement(p))
}

func (c Codex) queue(ctx context.Context, agent Agent, program string, s *presence.Session, text string) (Outcome, error) {
	env := scrubbed(c.Getenv)
	if home := lookup(c.Getenv)("CODEX_HOME"); home != "" {
		env = append(env, "CODEX_HOME="+home)
	}
	e := child{
		argv: []string{program, "queue", "--thread", s.ID, "--message", text},
		env:  env, dir: workdir(agent.Workspace, program),
	}.run(ctx)
	if !e.ok {
		return Fail(KindCodex, agent, "codex queue: "+e.why, e.hint)
	}
	return Outcome{Notified, "codex: its queue accepted it (exit 0) for " + line(s.ID, 40)}, nil
}

// program is what the registration says, else codex on our PATH; why not, if
// there is none. A name in the working directory is never taken.
func (c Codex) program(agent Agent) (path, why string) {
	if args := agent.Args(); len(args) > 0 {
		if !filepath.IsAbs(args[0]) {
			return "", "a relative path of codex is registered"
		}
		return args[0], ""
	}
	if path := onPath(c.Getenv, KindCodex); path != "" {
		return path, ""
	}
	return "", "no codex on PATH"
}

// onPath finds a program, "" if there is none.
func onPath(getenv func(string) string, name string) string {
	for _, dir := range filepath.SplitList(lookup(getenv)("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(path) && runnable(path) {
			return path
		}
	}
	return ""
}

func runnable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && (fi.Mode()&0o111 != 0 || strings.HasSuffix(path, ".exe"))
}
