package stubmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

func decodeChat(body []byte) (Request, error) {
	var q struct {
		Model    string        `json:"model"`
		Stream   bool          `json:"stream"`
		Messages []chatMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Request{}, err
	}
	r := Request{Model: q.Model, Stream: q.Stream}
	names := map[string]string{}
	talk := false
	for _, m := range q.Messages {
		talk = talk || m.Role != System && m.Role != Developer
		for _, e := range m.entries(names) {
			if !talk {
				e.Kind = Instructions // this API has its system prompt in front of the conversation
			}
			r.Entries = append(r.Entries, e)
		}
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	return r, nil
}

type chatMessage struct {
	Role       Role            `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// entries reads one message. names remembers which call had which tool.
func (m chatMessage) entries(names map[string]string) []Entry {
	if m.Role == ToolRole {
		return []Entry{{Role: ToolRole, Kind: ToolResult, Tool: names[m.ToolCallID], ID: m.ToolCallID, Text: strings.Join(texts(m.Content), "\n")}}
	}
	out := appendTexts(nil, m.Role, Text, m.Content)
	for _, c := range m.ToolCalls {
		names[c.ID] = c.Function.Name
		out = append(out, Entry{Role: Assistant, Kind: ToolCall, Tool: c.Function.Name, ID: c.ID, Text: c.Function.Arguments})
	}
	return out
}

func chatCalls(a answer) []any {
	var out []any
	for i, c := range a.calls {
		out = append(out, map[string]any{"index": i, "id": c.id, "type": "function",
			"function": map[string]any{"name": c.tool.Name, "arguments": string(c.args)}})
	}
	return out
}

func chatStop(a answer) string {
	if len(a.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage() map[string]any {
	return map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
}

func wholeChat(w http.ResponseWriter, a answer) {
	m := map[string]any{"role": "assistant", "content": a.say}
	if len(a.calls) > 0 {
		m["tool_calls"] = chatCalls(a)
	}
	writeJSON(w, map[string]any{"id": fmt.Sprintf("chatcmpl-stub%06d", a.n), "object": "chat.completion", "created": 1, "model": a.model,
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": chatStop(a)}}, "usage": chatUsage()})
}

func streamChat(e *events, a answer) {
	chunk := func(delta map[string]any, finish any) {
		v := map[string]any{"id": fmt.Sprintf("chatcmpl-stub%06d", a.n), "object": "chat.completion.chunk", "created": 1, "model": a.model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
		if finish != nil {
			v["usage"] = chatUsage()
		}
		e.send("", v)
	}
	chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	if !a.wait() {
		return
	}
	if a.say != "" {
		chunk(map[string]any{"content": a.say}, nil)
	}
	if len(a.calls) > 0 {
		chunk(map[string]any{"tool_calls": chatCalls(a)}, nil)
	}
	chunk(map[string]any{}, chatStop(a))
	e.send("", "[DONE]")
}
