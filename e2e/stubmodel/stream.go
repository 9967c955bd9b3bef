package stubmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// dialect is one API.
type dialect struct {
	api    API
	count  bool // asks for a number of tokens
	decode func(body []byte) (Request, error)
	stream func(*events, answer)
	whole  func(http.ResponseWriter, answer)
	tokens func(http.ResponseWriter)
}

// dialectOf finds the API and the agent's label in a path.
func dialectOf(path string) (dialect, string, bool) {
	anthropic := dialect{api: Anthropic, decode: decodeAnthropic, stream: streamAnthropic, whole: wholeAnthropic, tokens: tokensAnthropic}
	gemini := dialect{api: Gemini, decode: decodeGemini, stream: streamGemini, whole: wholeGemini, tokens: tokensGemini}
	ends := []struct {
		end   string
		d     dialect
		count bool
	}{
		{"/v1/messages", anthropic, false},
		{"/v1/messages/count_tokens", anthropic, true},
		{"/v1/responses", dialect{api: Responses, decode: decodeResponses, stream: streamResponses, whole: wholeResponses}, false},
		{"/v1/chat/completions", dialect{api: Chat, decode: decodeChat, stream: streamChat, whole: wholeChat}, false},
		{":generateContent", gemini, false},
		{":streamGenerateContent", gemini, false},
		{":countTokens", gemini, true},
	}
	for _, e := range ends {
		head, ok := strings.CutSuffix(path, e.end)
		if !ok {
			continue
		}
		head, _, _ = strings.Cut(head, "/v1")
		e.d.count = e.count
		return e.d, strings.Trim(head, "/"), true
	}
	return dialect{}, "", false
}

// answer is what is to be sent, and when.
type answer struct {
	say   string
	calls []call
	hold  <-chan struct{}
	gone  <-chan struct{} // the client went away
	n     int
	model string
}

// wait holds the reply as long as the test wants it; false: nobody listens any more.
func (a answer) wait() bool {
	if a.hold == nil {
		return true
	}
	select {
	case <-a.hold:
		return true
	case <-a.gone:
		return false
	}
}

// events writes server-sent events.
type events struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &events{w: w, c: http.NewResponseController(w)}
}

// send writes one event; name may be "". A client that went away is no error of ours.
func (e *events) send(name string, v any) {
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	text, ok := v.(string)
	if !ok {
		b, _ := json.Marshal(v) // only maps of plain values come here
		text = string(b)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", text)
	_ = e.c.Flush()
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// texts reads what may be a string or a list of parts with a text.
func texts(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if one == "" { // also null
			return nil
		}
		return []string{one}
	}
	var parts []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	var out []string
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		if p.Text != "" {
			out = append(out, p.Text)
		}
		out = append(out, texts(p.Content)...)
	}
	return out
}

// appendTexts adds an entry for each text.
func appendTexts(to []Entry, role Role, kind Kind, raw json.RawMessage) []Entry {
	for _, t := range texts(raw) {
		to = append(to, Entry{Role: role, Kind: kind, Text: t})
	}
	return to
}
