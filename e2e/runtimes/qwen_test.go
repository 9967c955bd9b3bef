//go:build e2e && linux

package runtimes

import "strings"

type qwen struct{}

func (qwen) configure(s *seat) {
	write(s.t, `{"security":{"auth":{"selectedType":"openai"}},"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"memory":{"enableManagedAutoMemory":false,"enableManagedAutoDream":false}}`,
		s.home, ".qwen", "settings.json")
}

func (qwen) env(s *seat) []string {
	return []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + s.model.URL(s.name) + "/v1", "OPENAI_MODEL=stub-model", "QWEN_CODE_NO_RELAUNCH=true"}
}

func (c qwen) headless(s *seat, prompt string) []string {
	return append(c.interactive(s), "-p", prompt)
}

func (qwen) interactive(s *seat) []string {
	args := []string{"--auth-type", "openai"}
	if !s.guarded {
		args = append(args, "--yolo")
	}
	return args
}

func (qwen) ready(screen string) bool { return strings.Contains(screen, "Type your message") }
