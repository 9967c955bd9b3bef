//go:build e2e && linux

package runtimes

import (
	"os"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// questions is what each CLI's permission dialog says.
func questions() map[string]string {
	return map[string]string{
		"claude":   "Do you want to proceed?",
		"codex":    "Would you like to run the following command?",
		"gemini":   "Allow execution of",
		"opencode": "Permission required",
		"qwen":     "Allow execution of",
		"copilot":  "Do you want to allow this?",
	}
}

// With the CLI's own rules, a command that is not allowed opens a question, and
// nothing happens until a person answers. Escape refuses.
func TestDialog(t *testing.T) {
	t.Parallel()
	on(t, everyCLI, func(t *testing.T, c cli) {
		u := newUser(t, nil)
		touched := u.root + "/touched"
		touch := stubmodel.Shell("touch " + touched)
		if c.name == "codex" { // it tries in its sandbox unless the model asks for more
			touch = stubmodel.Use("exec_command", map[string]any{"cmd": "touch " + touched, "sandbox_permissions": "require_escalated", "justification": "to see"})
		}
		u.script = stubmodel.Steps(touch)
		s := u.sitGuarded("coder", c)
		term := s.open()
		term.prompt("touch it")
		term.shows(questions()[c.name])
		term.dismiss(questions()[c.name])
		if _, err := os.Stat(touched); err == nil {
			t.Fatal("it was done unasked")
		}
	})
}
