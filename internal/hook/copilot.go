package hook

import (
	"encoding/json"
	"errors"
)

// Copilot translates for GitHub Copilot CLI (docs/hooks.md; 1.0.102). Its JSON
// does not name the event: the hook's argument does.
type Copilot struct{}

// Name is the runtime's name in the registry.
func (Copilot) Name() string { return "copilot" }

// Limits of Copilot CLI.
func (Copilot) Limits() Limits { return Limits{Blocks: 3, Watches: true} }

// copilotPayload is its hook JSON, as far as it is asked for.
type copilotPayload struct {
	SessionID  string `json:"sessionId"`
	Cwd        string `json:"cwd"`
	Source     string `json:"source"`
	Prompt     string `json:"prompt"`
	StopActive bool   `json:"stop_hook_active"`
}

// Read translates the JSON on standard input.
func (c Copilot) Read(in Input) (Event, error) {
	var p copilotPayload
	if err := json.Unmarshal(in.Stdin, &p); err != nil {
		return Event{}, bad(c.Name(), "standard input", err)
	}
	if len(in.Args) != 1 || word(in.Args[0]) == "" {
		return Event{}, bad(c.Name(), "the command line", errors.New("names no event, such as agentStop"))
	}
	if !plainID(p.SessionID) {
		return Event{}, bad(c.Name(), "sessionId", errors.New("is missing, or no id"))
	}
	return Event{Name: in.Args[0], Kind: copilotKind(in.Args[0]), SessionID: p.SessionID, Source: source(p.Source), Cwd: p.Cwd,
		Prompt: p.Prompt, StopActive: p.StopActive, Version: word(in.Getenv("COPILOT_CLI_BINARY_VERSION"))}, nil
}

func copilotKind(name string) Kind {
	switch name {
	case "sessionStart":
		return SessionStart
	case "userPromptSubmitted":
		return TurnStart
	case "postToolUse":
		return MidTurn
	case "agentStop":
		return Stop
	case "subagentStop":
		return SubagentStop
	case "permissionRequest":
		return Permission
	case "sessionEnd":
		return SessionEnd
	case "interrupt": // this and the next are of our own extension
		return Interrupt
	case "fileChanged":
		return FileChanged
	}
	return Other
}

// Write puts an answer into the place that the event has for it.
func (Copilot) Write(ev Event, a Answer) Output {
	switch ev.Kind {
	case SessionStart, TurnStart, MidTurn:
		if a.Context != "" {
			return Output{Stdout: encode(reply{Context: a.Context})}
		}
	case Stop:
		if a.Block {
			return Output{Stdout: encode(reply{Decision: "block", Reason: a.Reason})}
		}
	case FileChanged:
		return encodePlugin(pluginAnswer{Wake: a.Wake, Watch: a.Watch})
	}
	return Output{}
}
