package hook

import (
	"encoding/json"
	"errors"
)

// OpenCode translates for OpenCode's plugin, which is ours, and so is this JSON:
// docs/hooks.md describes it.
type OpenCode struct{}

// Name is the runtime's name in the registry.
func (OpenCode) Name() string { return "opencode" }

// Limits: one server may serve several terminals.
func (OpenCode) Limits() Limits { return Limits{Blocks: 3, Daemon: true, Watches: true} }

// pluginCall is what the plugin says.
type pluginCall struct {
	Event   string `json:"event"`
	Session string `json:"session"`
	Parent  string `json:"parent"` // of a subagent's session
	Source  string `json:"source"`
	Cwd     string `json:"cwd"`
	Prompt  string `json:"prompt"`
	Path    string `json:"path"`
	OneShot bool   `json:"one_shot"`
	Version string `json:"version"`
}

// pluginAnswer is what the plugin is told.
type pluginAnswer struct {
	Context  string            `json:"context,omitempty"`
	Continue string            `json:"continue,omitempty"` // the turn goes on with this
	Wake     string            `json:"wake,omitempty"`     // a turn begins with this
	Watch    []string          `json:"watch,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
}

// Read translates the JSON on standard input.
func (o OpenCode) Read(in Input) (Event, error) {
	var p pluginCall
	if err := json.Unmarshal(in.Stdin, &p); err != nil {
		return Event{}, bad(o.Name(), "standard input", err)
	}
	if p.Event == "" {
		return Event{}, bad(o.Name(), "event", errors.New("is missing"))
	}
	if !plainID(p.Session) {
		return Event{}, bad(o.Name(), "session", errors.New("is missing, or no id"))
	}
	ev := Event{Name: p.Event, Kind: pluginKind(p.Event), SessionID: p.Session, Source: source(p.Source), Cwd: p.Cwd, Prompt: p.Prompt,
		Path: p.Path, OneShot: p.OneShot, Version: word(p.Version)}
	if p.Parent != "" {
		ev.AgentID = p.Session
	}
	return ev, nil
}

func pluginKind(name string) Kind {
	switch name {
	case "session.start":
		return SessionStart
	case "turn.start":
		return TurnStart
	case "turn.middle":
		return MidTurn
	case "turn.stop":
		return Stop
	case "session.end":
		return SessionEnd
	case "permission":
		return Permission
	case "idle":
		return Idle
	case "interrupt":
		return Interrupt
	case "file.changed":
		return FileChanged
	}
	return Other
}

// Write prints the answer as one JSON object.
func (OpenCode) Write(ev Event, a Answer) Output {
	var p pluginAnswer
	switch ev.Kind {
	case SessionStart:
		p.Context, p.Watch, p.Env = a.Context, a.Watch, a.Env
	case TurnStart, MidTurn:
		p.Context = a.Context
	case Stop:
		p.Continue, p.Watch = a.Reason, a.Watch
	case FileChanged:
		p.Wake = a.Wake
	}
	return encodePlugin(p)
}

// encodePlugin prints an answer to a plugin of ours, if it says anything.
func encodePlugin(p pluginAnswer) Output {
	if p.Context == "" && p.Continue == "" && p.Wake == "" && len(p.Watch) == 0 {
		return Output{}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return Output{} // strings and lists of them always marshal
	}
	return Output{Stdout: append(data, '\n')}
}
