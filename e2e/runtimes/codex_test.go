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

func (codex) headless(s *seat, prompt string) []string {
	return append(labelled(s), "exec", "--skip-git-repo-check", "--json", prompt)
}

// With any -c, Codex does without its daemon, whatever else is said.
func (codex) interactive(s *seat) []string {
	if s.daemon {
		return nil
	}
	return append(labelled(s), "--no-daemon")
}

// labelled has each seat of a user ask under its own name: they share a file.
// In a daemon all sessions ask under the name of the seat that sat down last.
func labelled(s *seat) []string {
	return []string{"-c", fmt.Sprintf("model_providers.stub.base_url=%q", s.model.URL(s.name)+"/v1")}
}

// stopDaemon ends the user's daemon, and its updater with it.
func (s *seat) stopDaemon() {
	r := s.run(s.dir, s.environ(), s.path, "app-server", "daemon", "stop")
	if r.exit != 0 {
		s.t.Errorf("%v", r)
	}
}

func (codex) ready(screen string) bool { return strings.Contains(screen, "›") }
