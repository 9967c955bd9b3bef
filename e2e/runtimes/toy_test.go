//go:build e2e && linux

package runtimes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// toyMCP as the first argument makes this test binary an MCP server on stdio.
const toyMCP = "toy-mcp"

// serveToy is the smallest server that all the CLIs accept, with one tool that
// says back what it was told. It shows what the CLIs and the model make of MCP,
// without any of Postroom's own code.
func serveToy(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version   string `json:"protocolVersion"`
				Arguments struct {
					Text string `json:"text"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
			continue // a notification
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": q.ID}
		switch q.Method {
		case "initialize":
			answer["result"] = map[string]any{"protocolVersion": q.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "toy", "version": "1"}}
		case "ping":
			answer["result"] = map[string]any{}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{map[string]any{"name": "ring", "description": "rings a bell",
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}},
				"annotations": map[string]any{"readOnlyHint": true}}}}
		case "tools/call":
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": "rung: " + q.Params.Arguments.Text}}}
		default: // several clients ask for something before initialize
			answer["error"] = map[string]any{"code": -32601, "message": "no method " + q.Method}
		}
		raw, _ := json.Marshal(answer)
		fmt.Fprintf(out, "%s\n", raw)
	}
}
