package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// selfWatch waits for the word of a session that wakes itself: a part of ours in
// it watches the mailbox and starts a turn.
type selfWatch struct {
	kind     string
	alive    func(pid int, start string) bool // nil: nobody can tell
	start    string                           // what to do where there is no session
	watching string                           // what is known of the watcher
}

func (w selfWatch) notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(w.kind, agent, err.Error(), "")
	}
	s := agent.Session
	why := notLive(w.kind, s)
	if why == "" && s.PID != 0 && w.alive != nil && !w.alive(s.PID, s.Start) {
		why = fmt.Sprintf("no live session: its process %d is gone", s.PID)
	}
	if why != "" {
		return Fail(w.kind, agent, why, "start "+w.start+" in "+orThere(agent.Workspace)+" and type once in it")
	}
	if why := idle(s); why != "" && !(s.State == presence.Busy && s.SawMail()) {
		return Outcome{Held, line(w.kind+": "+why, evidenceMax)}, nil
	}
	return w.turn(ctx, agent), nil
}

// turn waits until a turn began. That the session saw its mailbox change is no
// more than a promise.
func (w selfWatch) turn(ctx context.Context, agent Agent) Outcome {
	s, start := agent.Session, time.Now()
	end, bounded := ctx.Deadline()
	saw := s.SawMail()
	for agent.Look != nil && bounded && time.Until(end) > 2*claudePoll {
		now := agent.Look()
		switch {
		case now == nil || now.ID != s.ID || !now.At.After(s.At):
		case now.SawMail():
			saw = true
		case now.State == presence.Busy:
			return Outcome{Notified, fmt.Sprintf("%s: its own session saw the mailbox change, and a turn began within %v", w.kind,
				time.Since(start).Round(10*time.Millisecond))}
		}
		pause(ctx, claudePoll)
	}
	if saw {
		return Outcome{Pending, line(w.kind+": its own session saw the mailbox change, and no turn has begun yet", evidenceMax)}
	}
	return Outcome{Pending, line(w.kind+": "+w.watching+since(s.Since)+" and has not said yet that it saw the mail", evidenceMax)}
}
