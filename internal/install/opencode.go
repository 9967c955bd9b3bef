package install

import "path/filepath"

// opencode is OpenCode. It asks nobody before it uses a tool, unless its user
// says so.
func opencode(scope Scope, p Place, w Wish) []Target {
	dir := filepath.Join(p.config("XDG_CONFIG_HOME", ".config"), "opencode")
	if scope == Project {
		dir = p.Repo
	}
	path := filepath.Join(dir, "opencode.json")
	if other := path + "c"; p.Exists != nil && !p.Exists(path) && p.Exists(other) {
		path = other
	}
	return []Target{{Path: path, Comments: true, pieces: []piece{server{
		path: []string{"mcp"}, post: w.Post, wish: w.MCP, command: listCommand,
		value: obj{{"type", "local"}, {"command", []any{w.Post, "mcp"}}, {"enabled", true}},
	}}}}
}
