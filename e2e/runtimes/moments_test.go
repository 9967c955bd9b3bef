//go:build e2e && linux

package runtimes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// Mail comes before the session, at a prompt, while a tool runs, and when the
// agent wants to stop; each time it is told in time, and reads. In the end it
// reads no more, and stops all the same. Nothing wakes it here.
func TestMoments(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, nil)
		s := u.sit("coder", c)
		talking, deaf := make(chan struct{}), make(chan struct{})
		u.script = stubmodel.Rules(
			stubmodel.Rule{When: "first mail", Then: stubmodel.Say("read the first")},
			stubmodel.Rule{When: "second mail", Then: stubmodel.Say("read the second")},
			stubmodel.Rule{When: "third mail", Then: stubmodel.Say("read the third")},
			stubmodel.Rule{When: "fourth mail", Then: stubmodel.Say("read the fourth")},
			stubmodel.Rule{When: "work on it", Once: true, Then: stubmodel.Shell("touch started; while [ ! -e go ]; do sleep 0.1; done; echo went on")},
			stubmodel.Rule{When: "say goodbye", Once: true, Then: stubmodel.Say("goodbye").After(talking)},
			stubmodel.Rule{When: "be deaf", Once: true, Then: stubmodel.Say("not listening").After(deaf)},
			stubmodel.Rule{When: "fifth", Then: stubmodel.Say("this was not to be read")},
			// Everything else with mail in it is read: but the last.
			stubmodel.Rule{When: "1 unread message", Once: true, Then: s.readNext()},
			stubmodel.Rule{When: "1 new message", Once: true, Then: s.readNext()},
			stubmodel.Rule{When: "1 new message", Once: true, Then: s.readNext()},
			stubmodel.Rule{When: "before you stop", Once: true, Then: s.readNext()},
			stubmodel.Rule{Then: stubmodel.Say("so be it")},
		)
		s.installed("--notify", "none")

		u.mail("coder", "one", "the first mail")
		term := s.open()
		term.prompt("good morning")
		if r := s.told("1 unread message", 1); !said(r, "you are coder") || !said(r, "1 unread message") || !r.NewestHas("good morning") {
			t.Errorf("at the start: %v", r.Newest())
		}
		s.told("the first mail", 1)
		term.rests()

		u.mail("coder", "two", "the second mail")
		if r := term.prompt("good afternoon"); !said(r, "1 new message") {
			t.Errorf("at the prompt: %v", r.Newest())
		}
		s.told("the second mail", 1)
		term.rests()

		term.prompt("work on it")
		until(t, "the tool", func() bool { _, err := os.Stat(filepath.Join(s.dir, "started")); return err == nil })
		u.mail("coder", "three", "the third mail")
		write(t, "", s.dir, "go")
		if r := s.told("went on", 1); !said(r, "1 new message") {
			t.Errorf("with the tool's result: %v", r.Newest())
		}
		s.told("the third mail", 1)
		term.rests()

		term.prompt("say goodbye")
		u.mail("coder", "four", "the fourth mail", "--act", "request")
		close(talking)
		s.told("before you stop", 1)
		s.told("the fourth mail", 1)
		term.rests()

		term.prompt("be deaf")
		u.mail("coder", "five", "the fifth mail", "--act", "request")
		close(deaf)
		s.told("before you stop", 2)
		term.rests()
		blocks := 0
		for _, r := range u.model.Turns("coder") {
			if r.NewestHas("before you stop") {
				blocks++
			}
		}
		want := map[string]int{"claude": 1 + 3, "codex": 1 + 1}[c.name]
		if blocks != want {
			t.Errorf("kept from stopping %d times, not %d", blocks, want)
		}
		if n := len(s.receipts("surfaced")); n != 5 {
			t.Errorf("%d messages surfaced", n)
		}
		if n := len(s.receipts("read")); n != 4 {
			t.Errorf("%d messages read", n)
		}
		for _, word := range []string{"first mail", "second mail", "third mail", "fourth mail", "fifth mail"} {
			for _, role := range u.model.Roles(word) {
				if role != stubmodel.ToolRole {
					t.Errorf("%q came as %v", word, role)
				}
			}
		}
		if out := s.ok("inbox", "--as", "coder", "--office", s.office).out; !strings.Contains(out, "five") {
			t.Errorf("the fifth is gone:\n%s", out)
		}
	})
}
