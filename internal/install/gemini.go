package install

import "path/filepath"

// gemini is Gemini CLI. Its timeouts are milliseconds; its settings may have
// comments.
func gemini(scope Scope, p Place, w Wish) []Target {
	return []Target{{Path: p.inner(scope, "GEMINI_CLI_HOME", ".gemini"), Comments: true, pieces: geminiLike("gemini", w,
		[]event{{"SessionStart", 10000, false}, {"BeforeAgent", 10000, false}, {"AfterTool", 10000, false},
			{"AfterAgent", 10000, false}, {"Notification", 5000, false}, {"SessionEnd", 3000, false}})}}
}

// qwen is Qwen Code, which began as Gemini CLI and took Claude Code's events.
func qwen(scope Scope, p Place, w Wish) []Target {
	path := filepath.Join(p.config("QWEN_HOME", ".qwen"), "settings.json")
	if scope == Project {
		path = filepath.Join(p.Dir, ".qwen", "settings.json")
	}
	return []Target{{Path: path, Comments: true, pieces: geminiLike("qwen", w,
		[]event{{"SessionStart", 10000, false}, {"UserPromptSubmit", 10000, false}, {"PostToolUse", 10000, false},
			{"Stop", 10000, false}, {"PermissionRequest", 5000, false}, {"Notification", 5000, false}, {"SessionEnd", 3000, false}})}}
}

// inner is DIR/settings.json in the home, which a variable may name, or in the
// directory where it is started.
func (p Place) inner(scope Scope, variable, dir string) string {
	base := p.config(variable)
	if scope == Project {
		base = p.Dir
	}
	return filepath.Join(base, dir, "settings.json")
}

// geminiLike are hooks and MCP server in one file. A trusted server's tools run
// without a question.
func geminiLike(runtime string, w Wish, events []event) []piece {
	value := obj{{"command", w.Post}, {"args", []any{"mcp"}}}
	if w.Allow {
		value = append(value, field{"trust", true})
	}
	list := []piece{server{path: []string{"mcpServers"}, post: w.Post, wish: w.MCP, command: plainCommand, value: value}}
	if w.Hooks {
		list = append(list, hooks{runtime: runtime, command: Quote(w.Post) + " hook " + runtime, events: events})
	}
	return list
}
