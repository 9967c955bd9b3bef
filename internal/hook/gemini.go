package hook

// Gemini translates for Gemini CLI (docs/hooks.md; 0.61.0).
type Gemini struct{}

// Name is the runtime's name in the registry.
func (Gemini) Name() string { return "gemini" }

// Limits of Gemini CLI. It has no cap of its own.
func (Gemini) Limits() Limits { return Limits{Blocks: 3} }

// Read translates the JSON on standard input.
func (g Gemini) Read(in Input) (Event, error) {
	p, err := readPayload(g.Name(), in.Stdin)
	if err != nil {
		return Event{}, err
	}
	ev := p.event()
	switch p.Event {
	case "SessionStart":
		ev.Kind = SessionStart
	case "BeforeAgent":
		ev.Kind = TurnStart
	case "AfterTool":
		ev.Kind = MidTurn
	case "AfterAgent":
		ev.Kind = Stop
	case "SessionEnd":
		ev.Kind, ev.Continues = SessionEnd, p.Reason == "clear"
	case "Notification":
		if p.Notice == "ToolPermission" {
			ev.Kind = Permission
		}
	}
	return ev, nil
}

// Write puts an answer into the place that the event has for it.
func (Gemini) Write(ev Event, a Answer) Output {
	switch ev.Kind {
	case SessionStart, TurnStart, MidTurn:
		if a.Context != "" {
			return Output{Stdout: encode(reply{Specific: &specific{Event: ev.Name, Context: a.Context}})}
		}
	case Stop:
		if a.Block {
			return Output{Stdout: encode(reply{Decision: "deny", Reason: a.Reason})}
		}
	}
	return Output{}
}
