package stubmodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Reply is what the model answers: text, then tool calls, at least one of both.
type Reply struct {
	Say   string
	Calls []Call
	// Hold, if set, is waited for after the reply has begun and before any of
	// it is said: a turn is open until the test closes it, or the CLI goes away.
	Hold <-chan struct{}
}

// Call is one tool call, in words that do not depend on the CLI. One of Shell,
// Tool and (Server, Tool) is set.
type Call struct {
	Shell  string // a command line for the CLI's shell tool
	Server string // an MCP server, as the CLI's configuration names it
	Tool   string // a tool of that server, or of the CLI itself
	Args   map[string]any
}

// Say answers with text and ends the turn.
func Say(text string) Reply { return Reply{Say: text} }

// Shell calls the CLI's shell tool once for each command line, in parallel.
func Shell(commands ...string) Reply {
	var r Reply
	for _, c := range commands {
		r.Calls = append(r.Calls, Call{Shell: c})
	}
	return r
}

// MCP calls a tool of an MCP server.
func MCP(server, tool string, args map[string]any) Reply {
	return Reply{Calls: []Call{{Server: server, Tool: tool, Args: args}}}
}

// Use calls a tool of the CLI by its name.
func Use(tool string, args map[string]any) Reply {
	return Reply{Calls: []Call{{Tool: tool, Args: args}}}
}

// After is the same reply, held until the channel is closed.
func (r Reply) After(open <-chan struct{}) Reply {
	r.Hold = open
	return r
}

// Script decides about turns. It is called from the server's goroutines, one
// call at a time.
type Script func(Request) Reply

// Rule is one line of a script.
type Rule struct {
	Agent string // "": any
	When  string // text that the newest entries must hold; "": always
	Once  bool   // used up when it was applied
	Then  Reply
}

// Rules asks each rule in order and takes the first that fits; if none does, it
// says "ok".
func Rules(rules ...Rule) Script {
	used := make([]bool, len(rules))
	return func(r Request) Reply {
		for i, rule := range rules {
			if used[i] || rule.Agent != "" && rule.Agent != r.Agent || rule.When != "" && !r.NewestHas(rule.When) {
				continue
			}
			used[i] = rule.Once
			return rule.Then
		}
		return Say("ok")
	}
}

// Steps gives the replies one after the other, whatever is asked; then "ok".
func Steps(replies ...Reply) Script {
	return func(Request) Reply {
		if len(replies) == 0 {
			return Say("ok")
		}
		next := replies[0]
		replies = replies[1:]
		return next
	}
}

// call is one tool call as the request's API wants it.
type call struct {
	tool Tool
	args json.RawMessage
	id   string
}

// shellTools are the names that the CLIs give their shell.
var shellTools = [...]string{"Bash", "exec_command", "run_shell_command", "bash", "shell"}

// resolve finds the tool that a call means among those of the request.
func (c Call) resolve(r Request) (Tool, map[string]any, error) {
	switch {
	case c.Shell != "":
		for _, name := range shellTools {
			if t, ok := r.Offers(name); ok {
				return t, shellArgs(t, c.Shell), nil
			}
		}
		return Tool{}, nil, fmt.Errorf("no shell among the tools offered: %s", toolNames(r))
	case c.Server != "":
		for _, name := range mcpNames(c.Server, c.Tool) {
			if t, ok := r.Offers(name); ok {
				return t, c.Args, nil
			}
		}
		return Tool{}, nil, fmt.Errorf("no tool %s of MCP server %s among the tools offered: %s", c.Tool, c.Server, toolNames(r))
	}
	if t, ok := r.Offers(c.Tool); ok {
		return t, c.Args, nil
	}
	return Tool{}, nil, fmt.Errorf("no tool %s among the tools offered: %s", c.Tool, toolNames(r))
}

// mcpNames are the ways in which the CLIs name a tool of an MCP server.
func mcpNames(server, tool string) []string {
	return []string{
		"mcp__" + server + "__" + tool, // Claude Code, Codex (as namespace and name), Qwen Code
		"mcp_" + server + "_" + tool,   // Gemini CLI
		server + "_" + tool,            // OpenCode
		server + "-" + tool,            // Copilot
	}
}

// shellArgs fills in a shell tool's arguments from its schema: the command under
// the name it has there, and text for whatever else it requires.
func shellArgs(t Tool, command string) map[string]any {
	schema := t.arguments()
	args := map[string]any{}
	for _, name := range schema.Required {
		args[name] = requiredValue(schema.Properties[name])
	}
	key := "command"
	if t.takes("cmd") {
		key = "cmd"
	}
	args[key] = command
	return args
}

// arguments is what a tool's schema says of them.
type arguments struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func (t Tool) arguments() arguments {
	var a arguments
	_ = json.Unmarshal(t.Schema, &a) // no schema: no arguments
	return a
}

func (t Tool) takes(argument string) bool {
	_, ok := t.arguments().Properties[argument]
	return ok
}

func requiredValue(schema json.RawMessage) any {
	var s struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(schema, &s)
	switch s.Type {
	case "boolean":
		return false
	case "number", "integer":
		return 60
	}
	return "run a command"
}

func toolNames(r Request) string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Full())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
