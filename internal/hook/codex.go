package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
)

// Codex translates for Codex CLI (docs/hooks.md; 0.171.0). Its hooks
// may run in a daemon that serves several terminals, whose environment says
// nothing: everything comes from the JSON and the session's own file.
type Codex struct{}

// Name is the runtime's name in the registry.
func (Codex) Name() string { return "codex" }

// Limits: Codex never overrides a hook that blocks, so its flag is obeyed.
func (Codex) Limits() Limits {
	return Limits{Blocks: 3, ObeyStopActive: true, Daemon: true, Tools: true}
}

// Read translates the JSON on standard input.
func (c Codex) Read(in Input) (Event, error) {
	p, err := readPayload(c.Name(), in.Stdin)
	if err != nil {
		return Event{}, err
	}
	ev := p.event()
	ev.Kind = codexKind(p.Event)
	if ev.Kind == SessionStart {
		readRollout(p.Transcript, &ev)
	}
	return ev, nil
}

func codexKind(name string) Kind {
	switch name {
	case "SessionStart":
		return SessionStart
	case "UserPromptSubmit":
		return TurnStart
	case "PostToolUse":
		return MidTurn
	case "Stop":
		return Stop
	case "SubagentStop":
		return SubagentStop
	case "SessionEnd":
		return SessionEnd
	case "PermissionRequest":
		return Permission
	case "Interrupt":
		return Interrupt
	}
	return Other
}

// rolloutHead bounds how much of a session's file is read, in bytes. Its first
// line holds the instructions, behind what is asked for here.
const rolloutHead = 512 << 10

// rollout is the first line of a session's file, as far as it is asked for.
type rollout struct {
	Type    string `json:"type"`
	Payload struct {
		ID         string          `json:"id"`
		ForkedFrom string          `json:"forked_from_id"`
		Originator string          `json:"originator"`
		Source     json.RawMessage `json:"source"` // "cli", "exec", {"subagent":…}
		Thread     string          `json:"thread_source"`
		Version    string          `json:"cli_version"`
	} `json:"payload"`
}

// readRollout adds what only the session's own file tells: whether it is one of
// codex exec, of a subagent, or a fork. A file that is not there yet tells
// nothing.
func readRollout(path string, ev *Event) {
	if path == "" {
		return
	}
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, rolloutHead))
	if err != nil {
		return
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var r rollout
	if json.Unmarshal(line, &r) != nil || r.Type != "session_meta" {
		return
	}
	src := string(r.Payload.Source)
	ev.OneShot = r.Payload.Originator == "codex_exec" || src == `"exec"`
	if r.Payload.Thread == "subagent" || bytes.HasPrefix(r.Payload.Source, []byte(`{"subagent"`)) || bytes.HasPrefix(r.Payload.Source, []byte(`{"subAgent"`)) {
		ev.AgentID = ev.SessionID
	}
	if plainID(r.Payload.ForkedFrom) {
		ev.Parent = r.Payload.ForkedFrom
	}
	ev.Version = word(r.Payload.Version)
}

// Write puts an answer into the place that the event has for it. Plain text at
// stop would be an error there, and a block after a tool would replace the
// tool's output: neither is ever written.
func (Codex) Write(ev Event, a Answer) Output {
	switch ev.Kind {
	case SessionStart, TurnStart, MidTurn:
		if a.Context != "" {
			return Output{Stdout: encode(reply{Specific: &specific{Event: ev.Name, Context: a.Context}})}
		}
	case Stop:
		if a.Block {
			return Output{Stdout: encode(reply{Decision: "block", Reason: a.Reason})}
		}
	}
	return Output{}
}
