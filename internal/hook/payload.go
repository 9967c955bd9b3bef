package hook

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// payload is the hook JSON that Claude Code began and others took over, as far
// as it is asked for.
type payload struct {
	SessionID  string `json:"session_id"`
	Event      string `json:"hook_event_name"`
	Cwd        string `json:"cwd"`
	Transcript string `json:"transcript_path"`
	Source     string `json:"source"`
	Reason     string `json:"reason"`
	Prompt     string `json:"prompt"`
	StopActive bool   `json:"stop_hook_active"`
	AgentID    string `json:"agent_id"`
	Mode       string `json:"permission_mode"`
	Notice     string `json:"notification_type"`
	Path       string `json:"file_path"`
}

// idMax bounds a session's id, in bytes.
const idMax = 200

// readPayload parses the JSON and checks what the core relies on.
func readPayload(runtime string, data []byte) (payload, error) {
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return p, bad(runtime, "standard input", err)
	}
	if p.Event == "" {
		return p, bad(runtime, "hook_event_name", errors.New("is missing"))
	}
	if !plainID(p.SessionID) {
		return p, bad(runtime, "session_id", errors.New("is missing, or no id"))
	}
	return p, nil
}

// plainID reports whether a runtime's id is one word that may stand in a shell
// line and in the user's state.
func plainID(s string) bool {
	if s == "" || len(s) > idMax || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '-', r == '_', r == '.', r == ':', r == '/':
		default:
			return false
		}
	}
	return true
}

// event carries over what has the same meaning everywhere.
func (p payload) event() Event {
	return Event{Name: p.Event, Kind: Other, SessionID: p.SessionID, Source: source(p.Source), Cwd: p.Cwd, StopActive: p.StopActive,
		Prompt: p.Prompt, AgentID: p.AgentID, Mode: word(p.Mode), Path: p.Path}
}

func source(s string) Source {
	switch s := Source(s); s {
	case Resume, Clear, Compact, Fork:
		return s
	}
	return Startup
}

// word keeps short plain words of a runtime; the rest is dropped.
func word(s string) string {
	if len(s) > 40 || !plainID(s) {
		return ""
	}
	return s
}

// specific is Claude Code's answer beside a decision.
type specific struct {
	Event   string   `json:"hookEventName"`
	Context string   `json:"additionalContext,omitempty"`
	Watch   []string `json:"watchPaths,omitempty"`
}

// reply is the JSON that a hook prints.
type reply struct {
	Decision string    `json:"decision,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Context  string    `json:"additionalContext,omitempty"` // Copilot
	Specific *specific `json:"hookSpecificOutput,omitempty"`
}

func encode(r reply) []byte {
	data, err := json.Marshal(r)
	if err != nil {
		return nil // strings and lists of them always marshal
	}
	return append(data, '\n')
}
