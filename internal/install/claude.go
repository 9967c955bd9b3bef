package install

import (
	"path/filepath"
	"strconv"
	"strings"
)

// claude is Claude Code. Events it does not know are ignored with a warning by
// new versions and spoil the file for old ones: those get fewer.
func claude(scope Scope, p Place, w Wish) []Target {
	dir := p.config("CLAUDE_CONFIG_DIR", ".claude")
	settings, servers := filepath.Join(dir, "settings.json"), filepath.Join(p.Home, ".claude.json")
	if p.Getenv("CLAUDE_CONFIG_DIR") != "" {
		servers = filepath.Join(dir, ".claude.json")
	}
	lock := servers + ".lock"
	if scope == Project {
		settings, servers, lock = filepath.Join(p.Dir, ".claude", "settings.json"), filepath.Join(p.Dir, ".mcp.json"), ""
	}
	rules := []string{}
	for _, v := range MailVerbs() {
		rules = append(rules, "Bash(post "+v+":*)")
	}
	tools := "mcp__" + serverName + "__"
	if w.Plugin {
		tools = "mcp__plugin_" + serverName + "_" + serverName + "__"
	}
	for _, t := range mailTools() {
		rules = append(rules, tools+t)
	}
	return []Target{
		{Path: settings, pieces: []piece{
			hooks{runtime: "claude", command: Quote(w.Post) + " hook claude", events: claudeEvents(w.Version), plugin: w.Plugin},
			allow{path: []string{"permissions", "allow"}, rules: rules, wish: w.Allow},
		}},
		{Path: servers, Lock: lock, pieces: []piece{server{
			path: []string{"mcpServers"}, post: w.Post, wish: w.MCP && !w.Plugin, command: plainCommand,
			value: obj{{"type", "stdio"}, {"command", w.Post}, {"args", []any{"mcp"}}},
		}}},
	}
}

// claudeEvents: timeouts are seconds. Claude Code gives SessionEnd 1.5 s
// whatever is asked for.
func claudeEvents(version string) []event {
	list := []event{{"SessionStart", 10, false}, {"UserPromptSubmit", 10, false}}
	if version != "" && older(version, 2, 1, 200) {
		return append(list, event{"PostToolUse", 10, false}, event{"Stop", 10, false},
			event{"Notification", 5, false}, event{"SessionEnd", 2, false})
	}
	return append(list, event{"PostToolBatch", 10, false}, event{"Stop", 10, false},
		event{"Notification", 5, false}, event{"PermissionRequest", 5, false},
		event{"FileChanged", 10, true}, event{"SessionEnd", 2, false})
}

// older reports whether a version such as "2.1.197" comes before another.
func older(version string, than ...int) bool {
	parts := strings.Split(version, ".")
	for i, want := range than {
		got := 0
		if i < len(parts) {
			got, _ = strconv.Atoi(parts[i])
		}
		if got != want {
			return got < want
		}
	}
	return false
}

// ClaudePlugin reports whether Claude Code's settings enable our plugin.
func ClaudePlugin(settings []byte) bool {
	d, err := openJSON("", settings, false)
	if err != nil {
		return false
	}
	plugins := d.at("enabledPlugins")
	if plugins == nil {
		return false
	}
	for i, k := range plugins.keys {
		name, _, _ := strings.Cut(k.name, "@")
		if v := plugins.items[i]; name == serverName && string(d.data[v.start:v.end]) == "true" {
			return true
		}
	}
	return false
}
