package stubmodel

import (
	"encoding/json"
	"net/http"
)

type geminiPart struct {
	Text         string `json:"text"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

func decodeGemini(body []byte) (Request, error) {
	var q struct {
		Contents          []geminiContent `json:"contents"`
		SystemInstruction geminiContent   `json:"systemInstruction"`
		Tools             []struct {
			FunctionDeclarations []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
				JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Request{}, err
	}
	var r Request
	for _, p := range q.SystemInstruction.Parts {
		r.Entries = append(r.Entries, Entry{Role: System, Kind: Instructions, Text: p.Text})
	}
	for _, c := range q.Contents {
		role := User
		if c.Role == "model" {
			role = Assistant
		}
		for _, p := range c.Parts {
			r.Entries = append(r.Entries, p.entry(role))
		}
	}
	for _, g := range q.Tools {
		for _, t := range g.FunctionDeclarations {
			schema := t.JSONSchema
			if schema == nil {
				schema = t.Parameters
			}
			r.Tools = append(r.Tools, Tool{Name: t.Name, Description: t.Description, Schema: schema})
		}
	}
	return r, nil
}

func (p geminiPart) entry(role Role) Entry {
	switch {
	case p.FunctionCall != nil:
		return Entry{Role: Assistant, Kind: ToolCall, Tool: p.FunctionCall.Name, ID: p.FunctionCall.ID, Text: string(p.FunctionCall.Args)}
	case p.FunctionResponse != nil:
		return Entry{Role: ToolRole, Kind: ToolResult, Tool: p.FunctionResponse.Name, ID: p.FunctionResponse.ID, Text: responseText(p.FunctionResponse.Response)}
	}
	return Entry{Role: role, Kind: Text, Text: p.Text}
}

// responseText is the "output" or "error" of a function's response, or all of it.
func responseText(raw json.RawMessage) string {
	var r struct {
		Output *string `json:"output"`
		Error  *string `json:"error"`
	}
	if json.Unmarshal(raw, &r) == nil {
		switch {
		case r.Output != nil:
			return *r.Output
		case r.Error != nil:
			return *r.Error
		}
	}
	return string(raw)
}

func tokensGemini(w http.ResponseWriter) { writeJSON(w, map[string]any{"totalTokens": 100}) }

func geminiBody(a answer) map[string]any {
	var parts []any
	if a.say != "" {
		parts = append(parts, map[string]any{"text": a.say})
	}
	for _, c := range a.calls {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": c.id, "name": c.tool.Name, "args": c.args}})
	}
	return map[string]any{
		"candidates":    []any{map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}, "finishReason": "STOP"}},
		"usageMetadata": map[string]any{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}, "modelVersion": a.model,
	}
}

func wholeGemini(w http.ResponseWriter, a answer) { writeJSON(w, geminiBody(a)) }

func streamGemini(e *events, a answer) {
	_ = e.c.Flush() // the header: the turn has begun
	if a.wait() {
		e.send("", geminiBody(a))
	}
}
