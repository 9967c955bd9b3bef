package stubmodel

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// API is the dialect that a request came in.
type API string

// The dialects.
const (
	Anthropic API = "anthropic"
	Responses API = "responses"
	Chat      API = "chat"
	Gemini    API = "gemini"
)

// Role is who speaks in an entry, as the API marks it.
type Role string

// The roles. Elsewhere is not one of an API: text that is in a request outside
// its conversation and instructions, for example in a tool's description.
const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
	Elsewhere Role = "elsewhere"
)

// Kind is what an entry is.
type Kind string

// The kinds. Instructions are the system prompt outside the conversation.
const (
	Text         Kind = "text"
	ToolCall     Kind = "tool_call"
	ToolResult   Kind = "tool_result"
	Instructions Kind = "instructions"
)

// Entry is one piece of a conversation.
type Entry struct {
	Role Role
	Kind Kind
	Text string // of a tool_call its arguments as JSON, of a tool_result what the tool said
	Tool string // the tool's name, with its namespace as Tool.Full has it; "" if the API doesn't repeat it
	ID   string // the call's id, in the call and in its result
}

// Tool is one that the model may call.
type Tool struct {
	Name        string
	Namespace   string // Codex: "mcp__<server>"
	Description string
	Schema      json.RawMessage // JSON schema of its arguments; nil if it takes free text
}

// Full is the name that no other tool of the request has.
func (t Tool) Full() string {
	if t.Namespace == "" {
		return t.Name
	}
	return t.Namespace + "__" + t.Name
}

// Sort says what a request is for.
type Sort string

// The sorts. Only turns are answered by the script.
const (
	Turn  Sort = "turn"  // the agent's conversation
	Side  Sort = "side"  // a title, a summary, a check: no tools are offered
	Count Sort = "count" // how many tokens
)

// Request is one call to the model.
type Request struct {
	N       int    // from 0, in the order of arrival
	Agent   string // the label in the base URL (Server.URL)
	API     API
	Sort    Sort
	Model   string
	Stream  bool
	Entries []Entry // instructions first, then the conversation as sent
	Tools   []Tool
	At      time.Time
	Raw     json.RawMessage // the body as it came
	Header  map[string]string
}

// Newest are the entries since the model spoke last: what a hook, a tool or a
// person has added for this turn.
func (r Request) Newest() []Entry {
	for i := len(r.Entries) - 1; i >= 0; i-- {
		if r.Entries[i].Role == Assistant {
			return r.Entries[i+1:]
		}
	}
	return r.Conversation()
}

// Conversation is everything but the instructions.
func (r Request) Conversation() []Entry {
	var out []Entry
	for _, e := range r.Entries {
		if e.Kind != Instructions {
			out = append(out, e)
		}
	}
	return out
}

// NewestHas says whether an entry of Newest contains the text.
func (r Request) NewestHas(text string) bool {
	return slices.ContainsFunc(r.Newest(), func(e Entry) bool { return strings.Contains(e.Text, text) })
}

// Has says whether the text is anywhere in the conversation or instructions.
func (r Request) Has(text string) bool { return len(r.Find(text)) > 0 }

// Find lists the entries that contain the text.
func (r Request) Find(text string) []Entry {
	var out []Entry
	for _, e := range r.Entries {
		if strings.Contains(e.Text, text) {
			out = append(out, e)
		}
	}
	return out
}

// Results are the tool results of the conversation, in order.
func (r Request) Results() []Entry {
	var out []Entry
	for _, e := range r.Entries {
		if e.Kind == ToolResult {
			out = append(out, e)
		}
	}
	return out
}

// Prompt is the newest text with the role of the user, "" if there is none.
func (r Request) Prompt() string {
	out := ""
	for _, e := range r.Newest() {
		if e.Role == User && e.Kind == Text {
			out = e.Text
		}
	}
	return out
}

// Roles lists with whose authority the text reached the model in this request,
// each once. Where the body holds it more often than the entries do, Elsewhere
// is among them, so nothing that the decoder overlooks stays unseen.
func (r Request) Roles(text string) []Role {
	var out []Role
	found := 0
	for _, e := range r.Find(text) {
		found += strings.Count(e.Text, text)
		if !slices.Contains(out, e.Role) {
			out = append(out, e.Role)
		}
	}
	var body any
	if json.Unmarshal(r.Raw, &body) == nil && occurrences(body, text) > found {
		out = append(out, Elsewhere)
	}
	return out
}

// occurrences counts the text in all strings of a JSON value.
func occurrences(v any, text string) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = strings.Count(v, text)
	case []any:
		for _, e := range v {
			n += occurrences(e, text)
		}
	case map[string]any:
		for _, e := range v {
			n += occurrences(e, text)
		}
	}
	return n
}

// Offers finds a tool by its name or full name.
func (r Request) Offers(name string) (Tool, bool) {
	i := slices.IndexFunc(r.Tools, func(t Tool) bool { return t.Name == name || t.Full() == name })
	if i < 0 {
		return Tool{}, false
	}
	return r.Tools[i], true
}
