//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// withMCP returns the arguments that give a seat's CLI the mail server, called
// "postroom", for a headless run. args follow "post mcp".
func (s *seat) withMCP(args ...string) []string {
	s.t.Helper()
	post := filepath.Join(given.Programs, "post")
	args = append([]string{"mcp", "--office", s.office}, args...)
	list, err := json.Marshal(args)
	must(s.t, err)
	switch s.cli.name {
	case "codex":
		return []string{"-c", fmt.Sprintf("mcp_servers.postroom.command=%q", post), "-c", "mcp_servers.postroom.args=" + string(list)}
	case "claude":
		file := filepath.Join(s.root, s.name+"-mcp.json")
		write(s.t, fmt.Sprintf(`{"mcpServers":{"postroom":{"command":%q,"args":%s}}}`, post, list), file)
		return []string{"--mcp-config", file, "--strict-mcp-config"}
	}
	s.t.Fatalf("how does %s take an MCP server?", s.cli.name)
	return nil
}

// mailResults are the results of the mail tools in an agent's conversation.
func (u *user) mailResults(agent string) []stubmodel.Entry {
	turns := u.model.Turns(agent)
	return slices.DeleteFunc(turns[len(turns)-1].Results(), func(e stubmodel.Entry) bool { return e.Tool == "ToolSearch" })
}

// The model reads and sends mail by tools. Nobody is there to allow anything,
// and Codex's shell may write in its workspace only.
func TestMCPMail(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Steps(
			stubmodel.MCP("postroom", "read_mail", map[string]any{}),
			stubmodel.MCP("postroom", "send_mail", map[string]any{"to": "ann", "subject": "seen", "body": "I read it."}),
			stubmodel.Say("finished")))
		s := u.sit("coder", c)
		s.join()
		u.mail("coder", "Review", "the secret word is kumquat", "--act", "request")
		more := s.withMCP("--as", "coder")
		if c.name == "codex" {
			more = append(more, "--sandbox", "workspace-write")
		} else {
			more = append(more, "--allowedTools", "mcp__postroom__read_mail", "mcp__postroom__send_mail")
		}
		r := s.ask("look at your mail", more...)
		if r.exit != 0 || !strings.Contains(r.out, "finished") {
			t.Fatalf("%v", r)
		}
		results := u.mailResults("coder")
		if len(results) != 2 || !strings.Contains(results[0].Text, "kumquat") || !strings.Contains(results[0].Text, "postroom-mail nonce=") {
			t.Fatalf("%v", results)
		}
		if !strings.Contains(results[1].Text, "delivered") {
			t.Fatalf("%v", results[1])
		}
		if roles := u.model.Roles("kumquat"); !slices.Equal(roles, []stubmodel.Role{stubmodel.ToolRole}) {
			t.Fatalf("the text came as %v", roles)
		}
		if out := u.ok("inbox", "--as", "ann", "--office", u.office).out; !strings.Contains(out, "seen") {
			t.Fatal(out)
		}
		if out := u.ok("inbox", "--as", "coder", "--office", u.office, "--json").out; !strings.Contains(out, `"state":"read"`) {
			t.Fatal(out)
		}
	})
}

// The server learns from the session itself who calls: nobody at first, and the
// agent as whom the session joined from its shell afterwards.
func TestMCPIdentity(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		who := stubmodel.MCP("postroom", "list_agents", map[string]any{})
		u := newUser(t, stubmodel.Steps(who, stubmodel.Shell("post join coder --office ../../office"), who, stubmodel.Say("finished")))
		s := u.sit("coder", c)
		more := s.withMCP()
		if c.name == "claude" {
			more = append(more, "--allowedTools", "Bash", "mcp__postroom__list_agents")
		}
		if r := s.ask("who are you", more...); r.exit != 0 || !strings.Contains(r.out, "finished") {
			t.Fatalf("%v", r)
		}
		results := u.mailResults("coder")
		if len(results) != 3 || !strings.Contains(results[0].Text, "post join NAME") {
			t.Fatalf("%v", results)
		}
		if last := results[2].Text; !strings.Contains(last, `"coder","you":true`) {
			t.Fatalf("%s\n%s", results[1].Text, last)
		}
	})
}
