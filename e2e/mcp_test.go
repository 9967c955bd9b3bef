//go:build e2e && linux

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is `post mcp` with the SDK's client at its other end.
type server struct {
	*mcp.ClientSession
	d *desk
}

// mcp starts a server for an agent.
func (d *desk) mcp(as string) *server {
	d.t.Helper()
	cmd := exec.Command(filepath.Join(programs, "post"), "mcp", "--as", as, "--office", d.office)
	cmd.Env, cmd.Dir = d.env, filepath.Join(d.root, "work", as)
	ss, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(d.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	must(d.t, err)
	d.t.Cleanup(func() { ss.Close() })
	return &server{ss, d}
}

// call returns the structured result.
func (s *server) call(tool string, args map[string]any) map[string]any {
	s.d.t.Helper()
	res, err := s.CallTool(s.d.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	must(s.d.t, err)
	out, ok := res.StructuredContent.(map[string]any)
	if res.IsError || !ok {
		s.d.t.Fatalf("%s: %+v", tool, res.StructuredContent)
	}
	return out
}

// Two agents talk through two servers; the person's commands see the same.
func TestMCPConversation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	ann, bob := d.mcp("ann"), d.mcp("bob")
	sent := ann.call("send_mail", map[string]any{"to": "bob", "act": "request", "body": "ping"})
	id := sent["messages"].([]any)[0].(map[string]any)["id"].(string)
	if came := bob.call("wait_for_mail", map[string]any{"from": "ann"}); came["came"] != true {
		t.Fatal(came)
	}
	if got := bob.call("read_mail", nil); got["id"] != id || !strings.Contains(got["text"].(string), "ping") {
		t.Fatal(got)
	}
	bob.call("reply_mail", map[string]any{"id": id, "act": "done", "body": "pong"})
	bob.call("mark_done", map[string]any{"ids": []string{id}})
	if came := ann.call("wait_for_mail", map[string]any{"reply_to": id}); came["came"] != true {
		t.Fatal(came)
	}
	d.post("owed").want(0, "nothing is owed|$")
	d.whole()
}

// A server that is killed with the request unanswered leaves the message unread.
func TestMCPKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	d.send("ann", "bob", "still here")
	cmd := exec.Command(filepath.Join(programs, "post"), "mcp", "--as", "bob", "--office", d.office)
	cmd.Env, cmd.Dir = d.env, d.root
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	must(t, out.Close()) // nobody will read
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_mail"}}`+"\n")
	_ = err // the server may be gone before it has read all
	in.Close()
	_ = cmd.Wait()
	r := d.post("inbox", "--as", "bob", "--json")
	if !strings.Contains(r.out, `"state":"unread"`) {
		t.Fatalf("%v", r)
	}
}

// What a sandboxed sender wrote by hand moves with anybody's tool call.
func TestMCPMovesMail(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann", "bob")
	d.drop("ann", "by-hand.json", `{"to":"bob","subject":"s","body":"by hand"}`)
	got := d.mcp("bob").call("list_mail", nil)
	if list := got["messages"].([]any); len(list) != 1 {
		t.Fatal(got)
	}
}

// Standard output carries frames and nothing else, also when things go wrong.
func TestMCPOutputIsFrames(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "ann")
	cmd := exec.Command(filepath.Join(programs, "post"), "mcp", "--as", "nobody", "--office", d.office)
	cmd.Env, cmd.Dir = d.env, d.root
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"server/discover"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n" + "this is no frame\n")
	out, _ := cmd.Output() // how it ends does not matter
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	n := 0
	for ; lines.Scan(); n++ {
		var frame struct{ JSONRPC string }
		if json.Unmarshal(lines.Bytes(), &frame) != nil || frame.JSONRPC != "2.0" {
			t.Errorf("%s", lines.Text())
		}
	}
	if n < 2 {
		t.Errorf("%d frames: %s", n, out)
	}
}
