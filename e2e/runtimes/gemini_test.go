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

func (gemini) headless(_ *seat, prompt string) []string {
	return []string{"-m", "gemini-2.5-flash", "--skip-trust", "--yolo", "-p", prompt}
}

func (gemini) interactive(*seat) []string {
	return []string{"-m", "gemini-2.5-flash", "--skip-trust", "--yolo"}
}

func (gemini) ready(screen string) bool { return strings.Contains(screen, "Type your message") }
