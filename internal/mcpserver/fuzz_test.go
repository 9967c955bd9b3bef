package mcpserver

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postroom/postroom/internal/mail"
)

// FuzzArguments: whatever a client gives a tool, the answer is a result that
// parses, and an argument that is wrong is named.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"", "null", "{}", "[]", `{"to":"bob","body":"x"}`, `{"id":"../../x"}`, `{"id":null,"part":"2"}`, `{"ids":["a",1]}`,
		`{"to":{"a":1}}`, `{"seconds":1e9}`, `{"limit":-1}`, `{"body":"\u0000\ud800"}`, `{"act":"REQUEST","to":"ann,,","body":" "}`, `{"question":"?"}`, `{"x":`} {
		for i := range tools() {
			f.Add(i, seed)
		}
	}
	f.Fuzz(func(t *testing.T, which int, raw string) {
		all := tools()
		tool := all[((which%len(all))+len(all))%len(all)]
		v, err := parse(tool.name, tool.args, json.RawMessage(raw))
		if err == nil {
			for _, a := range tool.args {
				use(v, a)
			}
			err = v.err
		}
		if err == nil {
			return
		}
		s := New(nil, slog.New(slog.DiscardHandler), true)
		res := s.result(refusal(err))
		data, merr := json.Marshal(res)
		if merr != nil || !res.IsError || mail.KindOf(err) != mail.KindUsage || !strings.HasPrefix(res.Content[0].(*mcp.TextContent).Text, tool.name+": ") {
			t.Fatalf("%s %q: %s %v %v", tool.name, raw, data, err, merr)
		}
	})
}

// use reads an argument in every way that a tool may.
func use(v *values, a argument) {
	switch a.kind {
	case kindNumber:
		if n := v.number(a.name, 1, 1, 50); n < 1 || n > 50 {
			panic(a.name)
		}
	case kindYesNo:
		v.yes(a.name)
	case kindList:
		v.list(a.name)
	default:
		v.text(a.name)
		if a.name == "act" {
			v.act(a.name)
		}
		if a.name == "to" || a.name == "cc" {
			v.list(a.name)
		}
	}
}
