package mcpserver

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// talk sends frames to a server one by one, as an odd client might, and returns
// the answers to those that have an id.
func (p *place) talk(as string, frames ...string) []object {
	p.t.Helper()
	in, w := io.Pipe()
	r, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- p.server(p.env(as, nil), true).ServeStdio(p.t.Context(), in, out) }()
	lines := bufio.NewReader(r)
	var answers []object
	for _, f := range frames {
		if _, err := io.WriteString(w, f+"\n"); err != nil {
			p.t.Fatal(err)
		}
		if !strings.Contains(f, `"id"`) {
			continue
		}
		line, err := lines.ReadBytes('\n')
		if err != nil {
			p.t.Fatal(err)
		}
		o := object{}
		if err := json.Unmarshal(line, &o); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		answers = append(answers, o)
	}
	w.Close()
	if err := <-done; err != nil {
		p.t.Errorf("the server ended with %v", err)
	}
	return answers
}

func code(o object) float64 {
	e, _ := o["error"].(object)
	c, _ := e["code"].(float64)
	return c
}

// TestRawFrames: what clients ask before they begin, and what nobody has.
func TestRawFrames(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	const (
		hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
		begun = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	)
	a := p.talk("ann",
		`{"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{}}`,
		hello, begun,
		`{"jsonrpc":"2.0","id":2,"method":"no/such/method","params":{"x":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/no-such"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_such_tool"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"list_agents"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":6,"method":"resources/subscribe","params":{"uri":"postroom://thread/conv-1"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"postroom://inbox"}}`)
	if code(a[0]) != -32601 || a[0]["id"] != "probe" {
		t.Errorf("server/discover of an old client: %v", a[0])
	}
	if res := a[1]["result"].(object); res["protocolVersion"] != "2025-11-25" || !strings.Contains(res["instructions"].(string), "another agent's words") {
		t.Errorf("%v", res)
	}
	if code(a[2]) != -32601 || code(a[3]) != -32602 {
		t.Errorf("%v\n%v", a[2], a[3])
	}
	if code(a[6]) != -32602 || a[7]["error"] != nil {
		t.Errorf("only the inbox can be subscribed to: %v\n%v", a[6], a[7])
	}
	if a[4]["error"] != nil || a[5]["error"] != nil || a[5]["id"] != 5.0 {
		t.Errorf("%v\n%v", a[4], a[5])
	}
}

// TestProtocols: a client of each version is served in it.
func TestProtocols(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		a := p.talk("ann",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+v+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_agents"}}`)
		if res := a[0]["result"].(object); res["protocolVersion"] != v || a[1]["error"] != nil {
			t.Errorf("%s: %v", v, a)
		}
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	a := p.talk("ann",
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_agents","arguments":{},`+meta+`}}`)
	if a[0]["result"].(object)["instructions"] != instructions || a[1]["error"] != nil {
		t.Errorf("without a handshake: %v", a)
	}
}
