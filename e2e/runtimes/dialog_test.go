//go:build e2e && linux

package runtimes

import (
	"os"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// question is what a CLI's permission dialog says, and the key that refuses.
type question struct{ text, no string }

func questions() map[string]question {
	return map[string]question{
		"claude": {"Do you want to proceed?", "Escape"},
		// One time in five it hears neither Escape nor arrows where the first of
		// them comes right after the dialog; digits it always hears.
		"codex":    {"Would you like to run the following command?", "3"},
		"gemini":   {"Allow execution of", "Escape"},
		"opencode": {"Permission required", "Escape"},
		"qwen":     {"Allow execution of", "Escape"},
		"copilot":  {"Do you want to allow this?", "Escape"},
	}
}

// With the CLI's own rules, a command that is not allowed opens a question, and
// nothing happens until a person answers. Then the person refuses.
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
		asked := questions()[c.name]
		term.shows(asked.text)
		term.dismiss(asked.text, asked.no)
		if _, err := os.Stat(touched); err == nil {
			t.Fatal("it was done unasked")
		}
	})
}
