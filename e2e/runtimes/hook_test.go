//go:build e2e && linux

package runtimes

import (
	"slices"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// What a hook adds reaches the model with more authority than the person's own
// words: that is why no word of mail may stand in it.
func TestHookContext(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Steps())
		s := u.sit("coder", c)
		const answer = `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"quince from a hook"}}`
		write(t, answer, u.root, "answer.json")
		hooks := `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"tee -a ` + u.root + `/stdin.json >/dev/null; cat ` + u.root + `/answer.json"}]}]}}`
		role, args := stubmodel.System, []string(nil)
		if c.name == "codex" {
			write(t, hooks, u.home, ".codex", "hooks.json")
			role, args = stubmodel.Developer, []string{"--dangerously-bypass-hook-trust"}
		} else {
			write(t, hooks, u.home, ".claude", "settings.json")
		}
		if r := s.ask("say something", args...); r.exit != 0 {
			t.Fatalf("%v", r)
		}
		if roles := u.model.Roles("quince"); !slices.Equal(roles, []stubmodel.Role{role}) {
			t.Fatalf("it came as %v", roles)
		}
	})
}
