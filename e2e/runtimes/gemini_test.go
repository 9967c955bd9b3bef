//go:build e2e && linux

package runtimes

import "strings"

type gemini struct{}

func (gemini) configure(s *seat) {
	write(s.t, `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true,"disableUpdateNag":true},"privacy":{"usageStatisticsEnabled":false}}`,
		s.home, ".gemini", "settings.json")
}

func (gemini) env(s *seat) []string {
	return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + s.model.URL(s.name), "GEMINI_CLI_NO_RELAUNCH=true"}
}

func (c gemini) headless(s *seat, prompt string) []string {
	return append(c.interactive(s), "-p", prompt)
}

func (gemini) interactive(s *seat) []string {
	args := []string{"-m", "gemini-2.5-flash", "--skip-trust"}
	if !s.guarded {
		args = append(args, "--yolo")
	}
	return args
}

func (gemini) ready(screen string) bool { return strings.Contains(screen, "Type your message") }
