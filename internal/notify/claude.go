package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// KindClaude is the kind of agents that are sessions of Claude Code.
const KindClaude = "claude"

// Claude wakes an interactive session of Claude Code. An idle one gets our own
// words through its inbox socket, if its version is known to have it; then its
// own state file tells whether a turn began. Where there is no socket its own
// FileChanged hook watches the mailbox, and here is only waited for that. A
// session that runs a turn, or asks its person something, is left alone: its
// hooks show the mail.
//
// It claims nothing about who is behind the words: no from-mode, so a session
// that bypasses permissions would hold them back behind a dialog. Such a one is
// never written to.
type Claude struct {
	Getenv func(string) string // nil is os.Getenv
}

// claudePoll is how often the session is looked at for a turn that begins.
const claudePoll = 40 * time.Millisecond

// fileChanged is the hook by which a session wakes itself; claudeRewake is how
// long its turn may take to begin.
const (
	fileChanged  = "FileChanged"
	claudeRewake = 10 * time.Second
)

// claudeFrom names us to the session. It limits messages per sender; ours go
// through the arbiter.
const claudeFrom = "uds:postroom"

// Kind returns KindClaude.
func (Claude) Kind() string { return KindClaude }

// LooksItself implements Watcher: the session's own file says more than hooks.
func (Claude) LooksItself() {}

// Check refuses arguments: there are none.
func (Claude) Check(args []string) ([]string, error) { return noArguments(KindClaude, args) }

// Notify implements Adapter.
func (c Claude) Notify(ctx context.Context, agent Agent, p Pointer) (Outcome, error) {
	if err := p.Check(); err != nil {
		return Fail(KindClaude, agent, err.Error(), "")
	}
	s := agent.Session
	if why := notLive(KindClaude, s); why != "" {
		return Fail(KindClaude, agent, why, "start claude in "+orThere(agent.Workspace)+`; "post install --check" looks at its hooks`)
	}
	dirs := claudeDirs(c.Getenv)
	live, ok := findClaude(dirs, s)
	if !ok {
		return Fail(KindClaude, agent, "no live session "+line(s.ID, 40), "start claude in "+orThere(agent.Workspace))
	}
	if s.Event == fileChanged && s.State == presence.Busy && time.Since(s.At) < claudeRewake {
		return Outcome{Notified, "claude: its own session saw the mailbox change at " + clock(s.At)}, nil
	}
	if live.Status == claudeBusy && s.State == presence.Idle {
		live = ending(ctx, live)
	}
	if why := live.occupied(); why != "" {
		if s.State == presence.Dialog { // its hook knows it a moment before the file does
			why = untouchable(s)
		}
		return Outcome{Held, "claude: " + line(why, 200)}, nil
	}
	if why := live.noSocket(s); why != "" {
		return watched(ctx, agent, why+"; its own session watches the mailbox")
	}
	return c.send(ctx, agent, p, live)
}

// ClaudeListens reports whether Claude.Notify would write to the session's inbox
// socket. Then the session's own hook is not to wake it as well.
func ClaudeListens(getenv func(string) string, s *presence.Session) bool {
	live, ok := findClaude(claudeDirs(getenv), s)
	return ok && live.noSocket(s) == ""
}

// ending waits for a turn whose last hook has run: it shows nothing any more,
// and the session is idle in a moment.
func ending(ctx context.Context, live claudeSession) claudeSession {
	end, bounded := ctx.Deadline()
	for bounded && time.Until(end) > 4*claudePoll {
		now, ok := readClaude(live.file)
		if !ok || now.ID != live.ID || now.Status != claudeBusy {
			return now
		}
		pause(ctx, claudePoll)
	}
	return live
}

// send writes the frame and waits for the turn that it begins.
func (c Claude) send(ctx context.Context, agent Agent, p Pointer, live claudeSession) (Outcome, error) {
	start := time.Now()
	frame, err := claudeFrame(announcement(p))
	if err == nil {
		err = writeSocket(ctx, live.Socket, frame)
	}
	if err != nil {
		if ctx.Err() != nil {
			return Fail(KindClaude, agent, overdue(ctx, start), "")
		}
		return Fail(KindClaude, agent, "its inbox socket: "+err.Error(), "")
	}
	for ctx.Err() == nil {
		now, ok := readClaude(live.file)
		if ok && now.ID == live.ID && now.StatusAt > live.StatusAt {
			return Outcome{Notified, fmt.Sprintf("claude: its inbox socket took it, and a turn began within %v",
				time.Since(start).Round(10*time.Millisecond))}, nil
		}
		pause(ctx, claudePoll)
	}
	return Outcome{Pending, line("claude: written to its inbox socket, but no turn began ("+overdue(ctx, start)+
		"); it may hold it for its person", evidenceMax)}, nil
}

// claudeFrame is one line for the inbox socket. The text is ours, and holds
// nothing that closes the tag.
func claudeFrame(text string) ([]byte, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	frame := struct {
		V        int     `json:"msgV"`
		ID       string  `json:"msg_id"`
		Type     string  `json:"type"`
		Message  message `json:"message"`
		Priority string  `json:"priority"`
		From     string  `json:"from"`
	}{1, uuid(), "user", message{"user", `<cross-session-message from="` + claudeFrom + `" from-name="postroom">` + "\n" +
		unmarked(text) + "\n</cross-session-message>"}, "next", claudeFrom}
	data, err := json.Marshal(frame)
	return append(data, '\n'), err
}

func writeSocket(ctx context.Context, path string, data []byte) error {
	conn, err := dialUnix(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetWriteDeadline(end); err != nil {
			return err
		}
	}
	_, err = conn.Write(data)
	return err
}

// watched waits for what the session itself sees of its mailbox; nobody calls
// it. watching says that it does.
func watched(ctx context.Context, agent Agent, watching string) (Outcome, error) {
	s, start := agent.Session, time.Now()
	end, bounded := ctx.Deadline()
	for agent.Look != nil && bounded && time.Until(end) > 2*claudePoll {
		if now := agent.Look(); now != nil && now.ID == s.ID && now.At.After(s.At) &&
			(now.State == presence.Busy || now.Event == fileChanged) {
			return Outcome{Notified, fmt.Sprintf("claude: its own session saw the mailbox change (%s) after %v",
				line(now.Event, 40), time.Since(start).Round(10*time.Millisecond))}, nil
		}
		pause(ctx, claudePoll)
	}
	return Outcome{Pending, line("claude: "+watching+since(s.Since)+" and has not said yet that it saw the mail", evidenceMax)}, nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// uuid is a random one (version 4).
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func orThere(dir string) string {
	if dir == "" {
		return "its workspace"
	}
	return dir
}

func lookup(getenv func(string) string) func(string) string {
	if getenv == nil {
		return os.Getenv
	}
	return getenv
}
