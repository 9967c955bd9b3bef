//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// installed makes the seat an agent's whose CLI has what post install writes.
func (s *seat) installed(join ...string) *seat {
	s.t.Helper()
	s.onPath()
	s.join(append([]string{"--runtime", s.cli.name}, join...)...)
	s.install()
	return s
}

// session is what the agent's presence file says of its session.
type session struct {
	ID, State, Event string
	PID              int
}

func (s *seat) session() (v session) {
	if raw, err := os.ReadFile(filepath.Join(s.office, "agents", s.name, "presence.json")); err == nil {
		_ = json.Unmarshal(raw, &v)
	}
	return v
}

// rests waits until the session's turn is over, by its hooks and on the screen.
func (s *terminal) rests() {
	s.t.Helper()
	until(s.t, "the end of "+s.name+"'s turn", func() bool { return s.session().State == "idle" })
	s.quiet()
}

// quiet waits until the screen shows no turn, several times in a row: it shows
// none yet right after a prompt, and right before hooks keep it from ending.
func (s *terminal) quiet() {
	s.t.Helper()
	row := 0
	s.waitScreen("the end of the turn", func(screen string) bool {
		row++
		if !s.ready(screen) || strings.Contains(screen, "esc to interrupt") {
			row = 0
		}
		return row >= 5
	})
}

// kill ends the CLI as kill -9 does: it leaves behind what it had open, as
// Claude Code the lock on its settings for ten seconds.
func (s *terminal) kill() { s.t.Helper(); s.end(syscall.SIGKILL) }

// end sends a signal that ends the CLI.
func (s *terminal) end(by syscall.Signal) {
	s.t.Helper()
	out, err := s.tmux("display-message", "-p", "-t", s.pane, "#{pane_pid}")
	must(s.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	must(s.t, err, syscall.Kill(pid, by))
	until(s.t, "its end", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
}

// receipts are the ids of which the agent's own receipts say that they were
// surfaced, read or done.
func (s *seat) receipts(event string) map[string]bool {
	ids := map[string]bool{}
	raw, _ := os.ReadFile(filepath.Join(s.office, "agents", s.name, "receipts.jsonl"))
	for line := range strings.Lines(string(raw)) {
		var r struct{ Event, ID string }
		if json.Unmarshal([]byte(line), &r) == nil && r.Event == event {
			ids[r.ID] = true
		}
	}
	return ids
}

// readNext reads the next message by what post install lets the agent use
// unasked: the shell, or the tool where the shell is in a sandbox.
func (s *seat) readNext() stubmodel.Reply {
	if s.cli.name == "codex" {
		return stubmodel.MCP("postroom", "read_mail", map[string]any{})
	}
	return stubmodel.Shell("post read next")
}

// writes sends a message the same way.
func (s *seat) writes(to, act, subject, body string) stubmodel.Reply {
	if s.cli.name == "codex" {
		return stubmodel.MCP("postroom", "send_mail", map[string]any{"to": to, "act": act, "subject": subject, "body": body})
	}
	return stubmodel.Shell("post send " + to + " --act " + act + " -s '" + subject + "' -m '" + body + "'")
}

// replies answers the last message read.
func (s *seat) replies(act, body string) stubmodel.Reply { return s.repliesTo("last", act, body) }

func (s *seat) repliesTo(id, act, body string) stubmodel.Reply {
	if s.cli.name == "codex" {
		return stubmodel.MCP("postroom", "reply_mail", map[string]any{"id": id, "act": act, "body": body})
	}
	return stubmodel.Shell("post reply " + id + " --act " + act + " -m '" + body + "'")
}

// said are the entries, of those that came since the model spoke last, that are
// words of our hooks: with the authority that hooks have.
func said(r stubmodel.Request, text string) bool {
	for _, e := range r.Newest() {
		if (e.Role == stubmodel.System || e.Role == stubmodel.Developer) && strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}

// told waits for a turn in which hooks say something to the agent.
func (s *seat) told(what string, n int) stubmodel.Request {
	s.t.Helper()
	seen := 0
	return s.await(strconv.Quote(what)+", "+strconv.Itoa(n)+" times", func(r stubmodel.Request) bool {
		if r.Agent == s.name && r.Sort == stubmodel.Turn && r.NewestHas(what) {
			seen++
		}
		return seen == n
	})
}
