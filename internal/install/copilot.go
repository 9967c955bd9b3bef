package install

import (
	_ "embed" // the extension
	"path/filepath"
	"strings"
)

//go:embed copilot_extension.mjs
var copilotExtension string

// copilot is GitHub Copilot CLI. It reads every file of its hooks directory, so
// ours is a file of its own. Its hooks do not say which event they are called
// for: the event is a word of the command.
func copilot(scope Scope, p Place, w Wish) []Target {
	dir := p.config("COPILOT_HOME", ".copilot")
	servers, hookFile := filepath.Join(dir, "mcp-config.json"), filepath.Join(dir, "hooks", "postroom.json")
	extensions := filepath.Join(dir, "extensions")
	if scope == Project {
		servers, hookFile = filepath.Join(p.Repo, ".mcp.json"), filepath.Join(p.Repo, ".github", "hooks", "postroom.json")
		extensions = filepath.Join(p.Repo, ".github", "extensions")
	}
	tools := []any{}
	for _, t := range mailTools() {
		tools = append(tools, t)
	}
	list := []Target{{Path: servers, pieces: []piece{server{
		path: []string{"mcpServers"}, post: w.Post, wish: w.MCP, command: plainCommand,
		value: obj{{"type", "local"}, {"command", w.Post}, {"args", []any{"mcp"}}, {"tools", tools}},
	}}}}
	if w.Hooks {
		list = append(list, Target{Path: hookFile, Whole: true, text: copilotHooks(w.Post)},
			Target{Path: filepath.Join(extensions, "postroom", "extension.mjs"), Whole: true, text: calling(w.Post, copilotExtension)})
	}
	return list
}

func copilotHooks(post string) string {
	var events obj
	for _, e := range []event{{"sessionStart", 10, false}, {"userPromptSubmitted", 10, false}, {"postToolUse", 10, false},
		{"agentStop", 10, false}, {"sessionEnd", 3, false}} {
		events = append(events, field{e.name, []any{obj{{"type", "command"},
			{"bash", Quote(post) + " hook copilot " + e.name}, {"timeoutSec", e.timeout}}}})
	}
	w := jsonWriter{nl: "\n", unit: "  "}
	w.value(obj{{"version", 1}, {"hooks", events}}, "")
	return strings.TrimSpace(w.b.String()) + "\n"
}
