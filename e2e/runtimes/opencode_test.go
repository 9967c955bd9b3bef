//go:build e2e && linux

package runtimes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type opencode struct{}

func (opencode) configure(s *seat) {
	write(s.t, fmt.Sprintf(`{
  "$schema": "https://opencode.ai/config.json",
  "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "name": "stub",
    "options": {"baseURL": "%s/v1", "apiKey": "dummy"},
    "models": {"stub-model": {"name": "stub-model", "tool_call": true, "limit": {"context": 100000, "output": 8000}}}}},
  "model": "stub/stub-model",
  "small_model": "stub/stub-model",
  "enabled_providers": ["stub"],
  "autoupdate": false
}
`, s.model.URL(s.name)), s.home, ".config", "opencode", "opencode.json")
	// Without these it waits for npm, which isn't there, to install a package for plugins.
	write(s.t, `{"lockfileVersion":3,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}}}`, s.home, ".config", "opencode", "package-lock.json")
	must(s.t, os.MkdirAll(filepath.Join(s.home, ".config", "opencode", "node_modules"), 0o755))
}

func (opencode) env(*seat) []string {
	return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
}

func (opencode) headless(_ *seat, prompt string) []string { return []string{"run", prompt} }

func (opencode) interactive(*seat) []string { return nil }

func (opencode) ready(screen string) bool { return strings.Contains(screen, "Ask anything") }
