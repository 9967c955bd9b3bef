//go:build e2e && linux

package runtimes

import (
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// Nothing to say costs nothing: a session where nobody joined, one of one
// prompt, and every turn without mail of one that did join, send the model what
// they send it without hooks, to the byte.
func TestSilence(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(
			stubmodel.Rule{When: "run it", Then: stubmodel.Shell("echo a tool ran")},
			stubmodel.Rule{When: "good morning", Then: stubmodel.Say("the night is over")}))
		s, other := u.sit("coder", c), u.sit("other", c)
		one, elsewhere, turn := s.onePrompt("plum1"), other.onePrompt("plum1"), s.secondTurn("plum1")
		s.onPath()
		s.join("--runtime", c.name)
		flags := []string{"install", c.name, "--no-mcp", "--office", s.office} // the server's description is not what hooks cost
		if c.name == "codex" {
			flags = append(flags, "--trust-hooks")
		}
		s.ok(flags...)
		if now := s.onePrompt("plum2"); now != one {
			t.Errorf("one prompt: was\n%s\nis\n%s", one, now)
		}
		if now := other.onePrompt("plum2"); now != elsewhere {
			t.Errorf("where nobody joined: was\n%s\nis\n%s", elsewhere, now)
		}
		if now := s.secondTurn("plum2"); now != turn {
			t.Errorf("a second turn: was\n%s\nis\n%s", turn, now)
		}
		if !slices.ContainsFunc(u.model.Turns("coder"), func(r stubmodel.Request) bool { return r.Has("you are coder") }) {
			t.Error("the hooks did not run at all")
		}
	})
}

// onePrompt is all that the model gets in a session of one prompt, with a tool.
func (s *seat) onePrompt(time string) string {
	s.t.Helper()
	if r := s.ask("the " + time + ", run it"); r.exit != 0 {
		s.t.Fatalf("%v", r)
	}
	turns := s.model.Turns(s.name)
	return same(turns[len(turns)-1].Entries, time)
}

// secondTurn is what comes with the second turn of a session in a terminal.
func (s *seat) secondTurn(time string) string {
	s.t.Helper()
	term := s.open()
	term.prompt("good morning, " + time)
	term.shows("the night is over")
	term.quiet()
	term.prompt("the " + time + ", run it")
	r := s.await("the tool", func(r stubmodel.Request) bool {
		return r.Agent == s.name && r.Has("good morning, "+time) && r.NewestHas("a tool ran")
	})
	term.quiet()
	term.end(syscall.SIGTERM)
	first := slices.IndexFunc(r.Entries, func(e stubmodel.Entry) bool { return e.Role == stubmodel.Assistant })
	return same(r.Entries[first:], time)
}

// same is the text of entries, without what differs from run to run.
func same(entries []stubmodel.Entry, time string) string {
	changing := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|call_stub\d+|Wall time: [\d.]+|Chunk ID: \w+|cch=\w+|cc_\w+=[\w.]+|` + time)
	text := ""
	for _, e := range entries {
		text += string(e.Role) + " " + string(e.Kind) + " " + changing.ReplaceAllString(e.Text, "…") + "\n"
	}
	return strings.TrimSpace(text)
}
