package install

import (
	"path/filepath"
	"testing"
)

// Where each runtime looks, with and without its own variables. The real
// programs are asked in e2e.
func TestSettingsAreWhereTheRuntimeLooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runtime  string
		scope    Scope
		variable string
		want     []string
	}{
		{"claude", User, "", []string{"/home/ann/.claude/settings.json", "/home/ann/.claude.json"}},
		{"claude", User, "CLAUDE_CONFIG_DIR", []string{"/else/settings.json", "/else/.claude.json"}},
		{"claude", Project, "CLAUDE_CONFIG_DIR", []string{"/src/app/deep/.claude/settings.json", "/src/app/deep/.mcp.json"}},
		{"codex", User, "", []string{"/home/ann/.codex/hooks.json", "/home/ann/.codex/config.toml"}},
		{"codex", User, "CODEX_HOME", []string{"/else/hooks.json", "/else/config.toml"}},
		{"codex", Project, "", []string{"/src/app/.codex/hooks.json", "/src/app/.codex/config.toml"}},
		{"gemini", User, "", []string{"/home/ann/.gemini/settings.json"}},
		{"gemini", User, "GEMINI_CLI_HOME", []string{"/else/.gemini/settings.json"}},
		{"gemini", Project, "GEMINI_CLI_HOME", []string{"/src/app/deep/.gemini/settings.json"}},
		{"qwen", User, "QWEN_HOME", []string{"/else/settings.json"}},
		{"copilot", User, "", []string{"/home/ann/.copilot/mcp-config.json", "/home/ann/.copilot/hooks/postroom.json", "/home/ann/.copilot/extensions/postroom/extension.mjs"}},
		{"copilot", User, "COPILOT_HOME", []string{"/else/mcp-config.json", "/else/hooks/postroom.json", "/else/extensions/postroom/extension.mjs"}},
		{"opencode", User, "XDG_CONFIG_HOME", []string{"/else/opencode/opencode.json", "/else/opencode/plugin/postroom.js"}},
		{"opencode", Project, "", []string{"/src/app/opencode.json", "/src/app/.opencode/plugin/postroom.js"}},
	} {
		p := place()
		p.Getenv = func(name string) string {
			if name == c.variable {
				return "/else"
			}
			return ""
		}
		list, err := Targets(c.runtime, c.scope, p, wish())
		if err != nil || len(list) != len(c.want) {
			t.Fatalf("%s: %v %v", c.runtime, list, err)
		}
		for i, want := range c.want {
			if filepath.ToSlash(list[i].Path) != want {
				t.Errorf("%s, %s, %s: %s, want %s", c.runtime, c.scope, c.variable, list[i].Path, want)
			}
		}
	}
}

// OpenCode reads both names; the one that is there is edited.
func TestOpenCodeWithComments(t *testing.T) {
	t.Parallel()
	p := place()
	p.Exists = func(path string) bool { return filepath.Base(path) == "opencode.jsonc" }
	list, err := Targets("opencode", User, p, wish())
	if err != nil || filepath.Base(list[0].Path) != "opencode.jsonc" {
		t.Fatalf("%v %v", list, err)
	}
}
