package stubmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

func decodeAnthropic(body []byte) (Request, error) {
	var q struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    Role            `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Request{}, err
	}
	r := Request{Model: q.Model, Stream: q.Stream}
	r.Entries = appendTexts(nil, System, Instructions, q.System)
	names := map[string]string{}
	for _, m := range q.Messages {
		var blocks []anthropicBlock
		if json.Unmarshal(m.Content, &blocks) != nil {
			r.Entries = appendTexts(r.Entries, m.Role, Text, m.Content)
			continue
		}
		for _, b := range blocks {
			r.Entries = append(r.Entries, b.entry(m.Role, names))
		}
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return r, nil
}

// entry reads one block. names remembers which call had which tool.
func (b anthropicBlock) entry(role Role, names map[string]string) Entry {
	switch b.Type {
	case "tool_use":
		names[b.ID] = b.Name
		return Entry{Role: Assistant, Kind: ToolCall, Tool: b.Name, ID: b.ID, Text: string(b.Input)}
	case "tool_result":
		text := strings.Join(texts(b.Content), "\n")
		return Entry{Role: ToolRole, Kind: ToolResult, Tool: names[b.ToolUseID], ID: b.ToolUseID, Text: text}
	}
	return Entry{Role: role, Kind: Text, Text: b.Text}
}

func tokensAnthropic(w http.ResponseWriter) { writeJSON(w, map[string]any{"input_tokens": 100}) }

func anthropicHead(a answer) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("msg_stub%06d", a.n), "type": "message", "role": "assistant", "model": a.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": 100, "output_tokens": 1},
	}
}

func anthropicStop(a answer) string {
	if len(a.calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func wholeAnthropic(w http.ResponseWriter, a answer) {
	m := anthropicHead(a)
	var content []any
	if a.say != "" {
		content = append(content, map[string]any{"type": "text", "text": a.say})
	}
	for _, c := range a.calls {
		content = append(content, map[string]any{"type": "tool_use", "id": c.id, "name": c.tool.Name, "input": c.args})
	}
	m["content"], m["stop_reason"] = content, anthropicStop(a)
	writeJSON(w, m)
}

func streamAnthropic(e *events, a answer) {
	send := func(v map[string]any) { e.send(v["type"].(string), v) }
	send(map[string]any{"type": "message_start", "message": anthropicHead(a)})
	if !a.wait() {
		return
	}
	block := 0
	one := func(start, delta map[string]any) {
		send(map[string]any{"type": "content_block_start", "index": block, "content_block": start})
		send(map[string]any{"type": "content_block_delta", "index": block, "delta": delta})
		send(map[string]any{"type": "content_block_stop", "index": block})
		block++
	}
	if a.say != "" {
		one(map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": a.say})
	}
	for _, c := range a.calls {
		one(map[string]any{"type": "tool_use", "id": c.id, "name": c.tool.Name, "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": string(c.args)})
	}
	send(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": anthropicStop(a), "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 10}})
	send(map[string]any{"type": "message_stop"})
}
