//go:build e2e && linux

package runtimes

import (
	"fmt"
	"strings"
)

type codex struct{}

func (codex) configure(s *seat) {
	rules := "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n"
	if s.guarded {
		rules = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `model = "stub-model"
model_provider = "stub"
check_for_update_on_startup = false
%s

[model_providers.stub]
name = "stub"
base_url = "%s/v1"
wire_api = "responses"
env_key = "STUB_KEY"

[analytics]
enabled = false

[otel]
metrics_exporter = "none"

[features]
plugins = false
remote_plugin = false
apps = false
`, rules, s.model.URL(s.name))
	for _, dir := range s.trusted("codex") {
		fmt.Fprintf(&b, "\n[projects.%q]\ntrust_level = \"trusted\"\n", dir)
	}
	write(s.t, b.String(), s.home, ".codex", "config.toml")
}

func (codex) env(*seat) []string { return []string{"STUB_KEY=dummy"} }

func (codex) headless(_ *seat, prompt string) []string {
	return []string{"exec", "--skip-git-repo-check", "--json", prompt}
}

func (codex) interactive(s *seat) []string {
	if s.daemon {
		return nil
	}
	return []string{"--no-daemon"}
}

func (codex) ready(screen string) bool { return strings.Contains(screen, "›") }
