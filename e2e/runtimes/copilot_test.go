//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"strings"
)

type copilot struct{}

func (copilot) configure(s *seat) {
	raw, err := json.Marshal(map[string]any{"banner": "never", "trusted_folders": s.trusted("copilot")})
	must(s.t, err)
	write(s.t, string(raw), s.home, ".copilot", "config.json")
}

func (copilot) env(s *seat) []string {
	return []string{"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_PROVIDER_BASE_URL=" + s.model.URL(s.name) + "/v1", "COPILOT_MODEL=stub-model"}
}

func (copilot) headless(_ *seat, prompt string) []string {
	return []string{"-p", prompt, "--allow-all-tools"}
}

func (copilot) interactive(*seat) []string { return []string{"--allow-all-tools"} }

func (copilot) ready(screen string) bool { return strings.Contains(screen, "❯") }
