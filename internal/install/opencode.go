package install

import (
	_ "embed" // the plugin
	"encoding/json"
	"path/filepath"
	"strings"
)

//go:embed opencode_plugin.js
var openCodePlugin string

// opencode is OpenCode. It asks nobody before it uses a tool, unless its user
// says so. It has no hooks, but loads every file of its plugin directory.
func opencode(scope Scope, p Place, w Wish) []Target {
	dir := filepath.Join(p.config("XDG_CONFIG_HOME", ".config"), "opencode")
	plugins := dir
	if scope == Project {
		dir, plugins = p.Repo, filepath.Join(p.Repo, ".opencode")
	}
	path := filepath.Join(dir, "opencode.json")
	if other := path + "c"; p.Exists != nil && !p.Exists(path) && p.Exists(other) {
		path = other
	}
	list := []Target{{Path: path, Comments: true, pieces: []piece{server{
		path: []string{"mcp"}, post: w.Post, wish: w.MCP, command: listCommand,
		value: obj{{"type", "local"}, {"command", []any{w.Post, "mcp"}}, {"enabled", true}},
	}}}}
	if w.Hooks {
		list = append(list, Target{Path: filepath.Join(plugins, "plugin", "postroom.js"), Whole: true, text: calling(w.Post, openCodePlugin)})
	}
	return list
}

// calling is a script that calls one program. A JSON string is one of
// JavaScript.
func calling(post, script string) string {
	quoted, err := json.Marshal(post)
	if err != nil {
		return "" // a string always marshals
	}
	return strings.Replace(script, `"@POST@"`, string(quoted), 1)
}
