package hook

// Qwen translates for Qwen Code (docs/hooks.md; 0.15). What a hook says at
// session start does not reach its model, and its stop_hook_active is always set.
type Qwen struct{}

// Name is the runtime's name in the registry.
func (Qwen) Name() string { return "qwen" }

// Limits of Qwen Code.
func (Qwen) Limits() Limits { return Limits{Blocks: 3, NoStartContext: true} }

// Read translates the JSON on standard input.
func (q Qwen) Read(in Input) (Event, error) {
	p, err := readPayload(q.Name(), in.Stdin)
	if err != nil {
		return Event{}, err
	}
	ev := p.event()
	switch p.Event {
	case "SessionStart":
		ev.Kind = SessionStart
	case "UserPromptSubmit":
		ev.Kind = TurnStart
		if p.Prompt == "" { // it comes with every tool's result
			ev.Kind = MidTurn
		}
	case "PostToolUse":
		ev.Kind = MidTurn
	case "Stop":
		ev.Kind = Stop
	case "SubagentStop":
		ev.Kind = SubagentStop
	case "PermissionRequest":
		ev.Kind = Permission
	case "SessionEnd":
		ev.Kind, ev.Continues = SessionEnd, p.Reason == "clear"
	case "Notification":
		switch p.Notice {
		case "permission_prompt":
			ev.Kind = Permission
		case "idle_prompt":
			ev.Kind = Idle
		}
	}
	return ev, nil
}

// Write puts an answer into the place that the event has for it.
func (Qwen) Write(ev Event, a Answer) Output {
	switch ev.Kind {
	case TurnStart, MidTurn:
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
