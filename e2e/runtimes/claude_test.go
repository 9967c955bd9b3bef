//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"strings"
)

// dummyKey is no key of anybody's; Claude Code remembers its last 20 characters.
const dummyKey = "sk-ant-dummy-dummy-dummy-dummy-dummy-key"

type claude struct{}

func (claude) configure(s *seat) {
	settings := map[string]any{
		"hasCompletedOnboarding": true,
		"customApiKeyResponses":  map[string]any{"approved": []string{dummyKey[len(dummyKey)-20:]}, "rejected": []string{}},
	}
	projects := map[string]any{}
	for _, dir := range s.trusted("claude") {
		projects[dir] = map[string]any{"hasTrustDialogAccepted": true}
	}
	settings["projects"] = projects
	raw, err := json.Marshal(settings)
	must(s.t, err)
	write(s.t, string(raw), s.home, ".claude.json")
}

func (claude) env(s *seat) []string {
	return []string{"ANTHROPIC_BASE_URL=" + s.model.URL(s.name), "ANTHROPIC_API_KEY=" + dummyKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1"}
}

func (c claude) headless(s *seat, prompt string) []string {
	return append([]string{"-p", prompt}, c.interactive(s)...)
}

func (claude) interactive(s *seat) []string {
	if s.guarded {
		return []string{"--permission-mode", "default"}
	}
	return []string{"--permission-mode", "default", "--allowedTools", "Bash"}
}

func (claude) ready(screen string) bool {
	return strings.Contains(screen, "❯") && strings.Contains(screen, "? for shortcuts")
}
