package hook

import "strings"

// Claude translates for Claude Code (docs/hooks.md; 2.1.332).
type Claude struct{}

// Name is the runtime's name in the registry.
func (Claude) Name() string { return "claude" }

// Limits: Claude Code overrides the ninth block in a row by itself. Its
// stop_hook_active is also set after a wake, so it cannot be what decides.
func (Claude) Limits() Limits { return Limits{Blocks: 3} }

// Read translates the JSON on standard input.
func (c Claude) Read(in Input) (Event, error) {
	p, err := readPayload(c.Name(), in.Stdin)
	if err != nil {
		return Event{}, err
	}
	ev := p.event()
	ev.Kind = claudeKind(p)
	ev.OneShot = strings.HasPrefix(in.Getenv("CLAUDE_CODE_ENTRYPOINT"), "sdk-")
	ev.Socket = in.Getenv("CLAUDE_CODE_MESSAGING_SOCKET")
	ev.Version = claudeVersion(in.Getenv("AI_AGENT"))
	if ev.Kind == SessionStart {
		ev.EnvFile = in.Getenv("CLAUDE_ENV_FILE")
	}
	// A cleared, resumed or forked session ends before its successor starts in
	// the same process.
	ev.Continues = ev.Kind == SessionEnd && (p.Reason == "clear" || p.Reason == "resume")
	return ev, nil
}

func claudeKind(p payload) Kind {
	switch p.Event {
	case "SessionStart":
		return SessionStart
	case "UserPromptSubmit":
		return TurnStart
	case "PostToolBatch", "PostToolUse":
		return MidTurn
	case "Stop":
		return Stop
	case "SubagentStop":
		return SubagentStop
	case "SessionEnd":
		return SessionEnd
	case "PermissionRequest":
		return Permission
	case "FileChanged":
		return FileChanged
	case "Notification":
		switch p.Notice {
		case "permission_prompt", "elicitation_dialog":
			return Permission
		case "idle_prompt":
			return Idle
		}
	}
	return Other
}

// claudeVersion reads "claude-code_2-1-332_agent".
func claudeVersion(agent string) string {
	rest, ok := strings.CutPrefix(agent, "claude-code_")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, "_")
	return word(strings.ReplaceAll(version, "-", "."))
}

// Write puts an answer into the place that the event has for it. A rewake is
// exit 2 with the text on standard error.
func (Claude) Write(ev Event, a Answer) Output {
	switch ev.Kind {
	case SessionStart, TurnStart, MidTurn:
		if a.Context == "" && len(a.Watch) == 0 {
			return Output{}
		}
		return Output{Stdout: encode(reply{Specific: &specific{Event: ev.Name, Context: a.Context, Watch: a.Watch}})}
	case Stop:
		if a.Block {
			return Output{Stdout: encode(reply{Decision: "block", Reason: a.Reason})}
		}
	case FileChanged:
		if a.Wake != "" {
			return Output{Stderr: []byte(a.Wake + "\n"), Exit: 2}
		}
	}
	return Output{}
}
