//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

const everyCLI = "claude codex gemini opencode qwen copilot"

// The CLI asks the model and shows what it said.
func TestHeadless(t *testing.T) {
	t.Parallel()
	on(t, everyCLI, func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Steps(stubmodel.Say("hello from the stub")))
		s := u.sit("coder", c)
		r := s.ask("hi there")
		if r.exit != 0 || !strings.Contains(r.out, "hello from the stub") {
			t.Fatalf("%v", r)
		}
		turns := u.model.Turns("coder")
		if len(turns) != 1 || !turns[0].NewestHas("hi there") {
			t.Fatalf("%d turns", len(turns))
		}
	})
}

// The model has the CLI run post, and sees what it printed.
func TestHeadlessShell(t *testing.T) {
	t.Parallel()
	on(t, everyCLI, func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Steps(stubmodel.Shell("post inbox --as coder"), stubmodel.Say("looked")))
		s := u.sit("coder", c)
		s.join()
		u.mail("coder", "a subject", "a body")
		r := s.ask("look at your mail")
		if r.exit != 0 || !strings.Contains(r.out, "looked") {
			t.Fatalf("%v", r)
		}
		turns := u.model.Turns("coder")
		if len(turns) != 2 {
			t.Fatalf("%d turns", len(turns))
		}
		results := turns[1].Results()
		if len(results) != 1 || !strings.Contains(results[0].Text, "a subject") {
			t.Fatalf("%v", results)
		}
		for text, want := range map[string]stubmodel.Role{"a subject": stubmodel.ToolRole, "look at your mail": stubmodel.User} {
			if roles := u.model.Roles(text); !slices.Equal(roles, []stubmodel.Role{want}) {
				t.Errorf("%q came as %v", text, roles)
			}
		}
	})
}

// The CLI comes up in a terminal, takes a prompt, runs post, and shows the answer.
func TestTerminal(t *testing.T) {
	t.Parallel()
	on(t, everyCLI, func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(
			stubmodel.Rule{When: "look at your mail", Then: stubmodel.Shell("post inbox --as coder")},
			stubmodel.Rule{Then: stubmodel.Say("that was the inbox")}))
		s := u.sit("coder", c)
		s.join()
		u.mail("coder", "a subject", "a body")
		term := s.open()
		term.prompt("look at your mail")
		u.await("the result of post inbox", func(r stubmodel.Request) bool {
			return len(r.Results()) == 1 && strings.Contains(r.Results()[0].Text, "a subject")
		})
		term.shows("that was the inbox")
	})
}

// Two CLIs of one user, in two repositories, with one model: neither gets what
// is meant for the other, and a turn can be held open.
func TestTwoCLIs(t *testing.T) {
	t.Parallel()
	note(t, "claude+codex")
	open := make(chan struct{})
	u := newUser(t, stubmodel.Rules(
		stubmodel.Rule{Agent: "ada", Then: stubmodel.Say("I am ada").After(open)},
		stubmodel.Rule{Agent: "bob", Then: stubmodel.Say("I am bob")}))
	ada, bob := u.sit("ada", pick(t, "claude")), u.sit("bob", pick(t, "codex"))
	term := ada.open()
	term.prompt("who are you")
	if r := bob.ask("and you"); !strings.Contains(r.out, "I am bob") {
		t.Fatalf("%v", r)
	}
	if strings.Contains(term.screen(), "I am ada") {
		t.Fatal("the turn was not held open")
	}
	close(open)
	term.shows("I am ada")
}

// The model calls a tool of an MCP server by the name the CLI gives it, also
// where the CLI keeps tools back until they are searched for.
func TestMCPTool(t *testing.T) {
	t.Parallel()
	on(t, everyCLI, func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Steps(stubmodel.MCP("toy", "ring", map[string]any{"text": "kumquat"}), stubmodel.Say("rang")))
		s := u.sit("coder", c)
		r := s.ask("ring the bell", s.addToy()...)
		if r.exit != 0 || !strings.Contains(r.out, "rang") {
			t.Fatalf("%v", r)
		}
		turns := u.model.Turns("coder")
		if last := turns[len(turns)-1]; !last.NewestHas("rung: kumquat") || last.Newest()[0].Role != stubmodel.ToolRole {
			t.Fatalf("%v", last.Newest())
		}
		t.Logf("%d turns", len(turns))
	})
}

// addToy puts the toy server into the CLI's configuration, and says with what
// arguments its tool may be used unasked.
func (s *seat) addToy() []string {
	self, err := os.Executable()
	must(s.t, err)
	server := map[string]any{"command": self, "args": []string{toyMCP}}
	file := func(key string, v map[string]any, elem ...string) {
		raw, err := json.Marshal(map[string]any{key: map[string]any{"toy": v}})
		must(s.t, err)
		write(s.t, string(raw), elem...)
	}
	switch s.cli.name {
	case "claude":
		file("mcpServers", server, s.root, "toy.json")
		return []string{"--mcp-config", s.root + "/toy.json", "--allowedTools", "Bash,mcp__toy"}
	case "codex":
		config := s.home + "/.codex/config.toml"
		old, err := os.ReadFile(config)
		must(s.t, err)
		write(s.t, string(old)+fmt.Sprintf("\n[mcp_servers.toy]\ncommand = %q\nargs = [%q]\n", self, toyMCP), config)
	case "gemini", "qwen": // Gemini reads a repository's own only where it trusts it
		settings := map[string]any{}
		path := filepath.Join(s.home, "."+s.cli.name, "settings.json")
		old, err := os.ReadFile(path)
		must(s.t, err, json.Unmarshal(old, &settings))
		settings["mcpServers"] = map[string]any{"toy": server}
		raw, err := json.Marshal(settings)
		must(s.t, err)
		write(s.t, string(raw), path)
	case "opencode":
		file("mcp", map[string]any{"type": "local", "command": []string{self, toyMCP}, "enabled": true}, s.dir, "opencode.json")
	case "copilot":
		file("mcpServers", map[string]any{"type": "local", "command": self, "args": []string{toyMCP}, "tools": []string{"*"}}, s.home, ".copilot", "mcp-config.json")
	}
	return nil
}
