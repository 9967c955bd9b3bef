package demooffice

import (
	"time"

	"github.com/postroom/postroom/internal/presence"
)

// member is one agent of the office.
type member struct {
	name, role, runtime string
	// silent is how long before the end it stopped looking at its mail.
	silent time.Duration
	// state is what its session said last, so long before the end; "" is nothing.
	state presence.State
	said  time.Duration
	event string
	pid   int // of a process that is gone; 0: one that nobody can look for
}

// goneProcess is above what Linux gives.
const goneProcess = 4_194_305

// cast are the twelve.
func cast() []member {
	const never = 1 << 62
	return []member{
		{name: "lead", role: "decides what is done next", runtime: "claude", state: presence.Busy, said: time.Minute, event: "UserPromptSubmit"},
		{name: "planner", role: "cuts work into pieces", runtime: "claude", state: presence.Idle, said: 16 * time.Minute, event: "Stop"},
		{name: "backend", role: "writes the server", runtime: "codex", state: presence.Busy, said: 3 * time.Minute, event: "UserPromptSubmit"},
		{name: "frontend", role: "writes the pages", runtime: "claude", state: presence.Dialog, said: 12 * time.Minute, silent: 14 * time.Minute, event: "Notification"},
		{name: "database", role: "keeps the data, and the slow queries away", runtime: "gemini", state: presence.Idle, said: 4 * time.Minute, event: "AfterAgent"},
		{name: "tester", role: "tries to break it", runtime: "qwen", state: presence.Idle, said: 31 * time.Minute, event: "Stop"},
		{name: "reviewer", role: "reads every change", runtime: "opencode", state: presence.Idle, said: 7 * time.Minute, event: "session.idle"},
		{name: "writer", role: "writes the manual", runtime: "claude", silent: 7 * time.Hour, state: presence.Idle, said: 7 * time.Hour, event: "Stop", pid: goneProcess},
		{name: "ops", role: "runs the machines", runtime: "copilot", silent: 80 * time.Minute, state: presence.Interrupted, said: 80 * time.Minute, event: "postToolUse"},
		{name: "security", role: "looks for holes", runtime: "codex", state: presence.Idle, said: 26 * time.Minute, event: "Stop"},
		{name: "scout", role: "finds things out", runtime: "gemini", silent: 30 * time.Hour, state: presence.Ended, said: 29 * time.Hour, event: "SessionEnd"},
		{name: "release", role: "builds and rolls out; a script"},
		{name: "intern", role: "was here for a week", runtime: "claude", silent: never},
	}
}

// channels are names for several.
func channels() map[string][]string {
	return map[string][]string{
		"builders":   {"backend", "frontend", "database", "release"},
		"round":      {"planner", "backend", "frontend", "database"},
		"storefront": {"frontend", "backend", "lead", "writer"},
	}
}
