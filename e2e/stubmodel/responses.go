package stubmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

type responsesItem struct {
	Type      string          `json:"type"`
	Role      Role            `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments json.RawMessage `json:"arguments"`
	Input     string          `json:"input"`
	CallID    string          `json:"call_id"`
	Output    json.RawMessage `json:"output"`
	Tools     []responsesTool `json:"tools"`
}

// responsesTool is a function, a namespace of functions (an MCP server), or one
// of the provider's own tools, which has a type and no name.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Tools       []responsesTool `json:"tools"`
}

func (t responsesTool) flat(namespace string) []Tool {
	if t.Type == "namespace" {
		var out []Tool
		for _, sub := range t.Tools {
			out = append(out, sub.flat(t.Name)...)
		}
		return out
	}
	name := t.Name
	if name == "" {
		name = t.Type
	}
	return []Tool{{Name: name, Namespace: namespace, Description: t.Description, Schema: t.Parameters}}
}

func decodeResponses(body []byte) (Request, error) {
	var q struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []responsesTool `json:"tools"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Request{}, err
	}
	r := Request{Model: q.Model, Stream: q.Stream}
	if q.Instructions != "" {
		r.Entries = append(r.Entries, Entry{Role: System, Kind: Instructions, Text: q.Instructions})
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, t.flat("")...)
	}
	var items []responsesItem
	if json.Unmarshal(q.Input, &items) != nil {
		r.Entries = appendTexts(r.Entries, User, Text, q.Input)
	}
	names := map[string]string{}
	for _, it := range items {
		r.Entries = append(r.Entries, it.entries(names)...)
		for _, t := range it.Tools { // what a search found
			r.Tools = append(r.Tools, t.flat("")...)
		}
	}
	return r, nil
}

// entries reads one item. names remembers which call had which tool.
func (it responsesItem) entries(names map[string]string) []Entry {
	switch {
	case strings.HasSuffix(it.Type, "_call_output") || strings.HasSuffix(it.Type, "_output"):
		return []Entry{{Role: ToolRole, Kind: ToolResult, Tool: names[it.CallID], ID: it.CallID, Text: strings.Join(texts(it.Output), "\n")}}
	case strings.HasSuffix(it.Type, "_call"):
		full := Tool{Name: it.Name, Namespace: it.Namespace}.Full()
		names[it.CallID] = full
		text := it.Input
		if text == "" {
			text = jsonText(it.Arguments)
		}
		return []Entry{{Role: Assistant, Kind: ToolCall, Tool: full, ID: it.CallID, Text: text}}
	case it.Type == "reasoning":
		return nil
	}
	return appendTexts(nil, it.Role, Text, it.Content)
}

// jsonText is the text of a JSON string, or the JSON itself.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// outputItems are the finished items of an answer.
func outputItems(a answer) []map[string]any {
	var out []map[string]any
	if a.say != "" {
		out = append(out, map[string]any{"type": "message", "id": fmt.Sprintf("msg_stub%06d", a.n), "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": a.say, "annotations": []any{}}}})
	}
	for _, c := range a.calls {
		if c.tool.Name == "tool_search" {
			out = append(out, map[string]any{"type": "tool_search_call", "call_id": c.id, "status": "completed", "execution": "client", "arguments": c.args})
			continue
		}
		item := map[string]any{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.tool.Name, "arguments": string(c.args), "status": "completed"}
		if c.tool.Namespace != "" {
			item["namespace"] = c.tool.Namespace
		}
		out = append(out, item)
	}
	return out
}

func responsesBody(a answer, status string, output any) map[string]any {
	return map[string]any{"id": fmt.Sprintf("resp_stub%06d", a.n), "object": "response", "status": status, "model": a.model, "output": output,
		"usage": map[string]any{"input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}}}
}

func wholeResponses(w http.ResponseWriter, a answer) {
	writeJSON(w, responsesBody(a, "completed", outputItems(a)))
}

func streamResponses(e *events, a answer) {
	send := func(v map[string]any) { e.send(v["type"].(string), v) }
	send(map[string]any{"type": "response.created", "response": responsesBody(a, "in_progress", []any{})})
	if !a.wait() {
		return
	}
	items := outputItems(a)
	for i, item := range items {
		begun := item
		if item["type"] == "message" {
			begun = map[string]any{"type": "message", "id": item["id"], "role": "assistant", "status": "in_progress", "content": []any{}}
		}
		send(map[string]any{"type": "response.output_item.added", "output_index": i, "item": begun})
		if item["type"] == "message" {
			send(map[string]any{"type": "response.output_text.delta", "output_index": i, "content_index": 0, "item_id": item["id"], "delta": a.say})
		}
		send(map[string]any{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	send(map[string]any{"type": "response.completed", "response": responsesBody(a, "completed", items)})
}
