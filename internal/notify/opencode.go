package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// KindOpenCode is the kind of agents that are sessions of OpenCode.
const KindOpenCode = "opencode"

// pluginChanged is what the plugin's hook calls a wake of its own.
const pluginChanged = "file.changed"

// OpenCode wakes nobody: the plugin in the session watches the mailbox and
// starts a turn. Here is waited for its word that it did.
type OpenCode struct {
	// Alive reports whether a process runs that started at start; nil: nobody can
	// tell.
	Alive func(pid int, start string) bool
}

// Kind returns KindOpenCode.
func (OpenCode) Kind() string { return KindOpenCode }

// Check refuses arguments: there are none.
func (OpenCode) Check(args []string) ([]string, error) { return noArguments(KindOpenCode, args) }

// Notify implements Adapter.
func (o OpenCode) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindOpenCode, agent, err.Error(), "")
	}
	s := agent.Session
	why := notLive(KindOpenCode, s)
	if why == "" && s.PID != 0 && o.Alive != nil && !o.Alive(s.PID, s.Start) {
		why = fmt.Sprintf("no live session: its process %d is gone", s.PID)
	}
	switch {
	case why != "":
		return Fail(KindOpenCode, agent, why, "start opencode in "+orThere(agent.Workspace)+` and type once in it; "post install --check" looks at its plugin`)
	case s.State == presence.Busy && s.Event == pluginChanged && time.Since(s.At) < claudeRewake:
		return Outcome{Notified, "opencode: its own session saw the mailbox change at " + clock(s.At)}, nil
	}
	if why := idle(s); why != "" {
		return Outcome{Held, line("opencode: "+why, evidenceMax)}, nil
	}
	return watched(ctx, agent, KindOpenCode, "its plugin watches the mailbox")
}

// watched waits for what the session itself sees of its mailbox; nobody calls
// it. watching says that it does.
func watched(ctx context.Context, agent Agent, kind, watching string) (Outcome, error) {
	s, start := agent.Session, time.Now()
	end, bounded := ctx.Deadline()
	for agent.Look != nil && bounded && time.Until(end) > 2*claudePoll {
		if now := agent.Look(); now != nil && now.ID == s.ID && now.At.After(s.At) &&
			(now.State == presence.Busy || now.Event == fileChanged) {
			return Outcome{Notified, fmt.Sprintf("%s: its own session saw the mailbox change (%s) after %v", kind,
				line(now.Event, 40), time.Since(start).Round(10*time.Millisecond))}, nil
		}
		pause(ctx, claudePoll)
	}
	return Outcome{Pending, line(kind+": "+watching+since(s.Since)+" and has not said yet that it saw the mail", evidenceMax)}, nil
}
