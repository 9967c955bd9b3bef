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

func (c copilot) headless(s *seat, prompt string) []string {
	return append(c.interactive(s), "-p", prompt)
}

func (copilot) interactive(s *seat) []string {
	args := []string{}
	if !s.guarded {
		args = append(args, "--allow-all-tools")
	}
	return args
}

func (copilot) ready(screen string) bool { return strings.Contains(screen, "❯") }
