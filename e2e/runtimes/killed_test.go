//go:build e2e && linux

package runtimes

import (
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// resumed are the arguments that take up a session again.
func resumed(c cli, id string) []string {
	if c.name == "claude" {
		return []string{"--resume", id}
	}
	return []string{"resume", id}
}

// An agent that was told of mail and is killed before it reads it is told again:
// in its session that is resumed, and, killed once more, in a new one.
func TestKilledBeforeReading(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, nil)
		s := u.sit("coder", c)
		never := make(chan struct{})
		defer close(never)
		u.script = stubmodel.Rules(
			stubmodel.Rule{When: "the body", Then: stubmodel.Say("read at last")},
			stubmodel.Rule{When: "1 new message", Once: true, Then: stubmodel.Say("never said").After(never)},
			stubmodel.Rule{When: "1 unread message", Once: true, Then: stubmodel.Say("never said").After(never)},
			stubmodel.Rule{When: "1 unread message", Once: true, Then: s.readNext()})
		s.installed("--notify", "none")
		term := s.open()
		term.prompt("good morning")
		term.rests()
		first := s.session().ID

		u.mail("coder", "a subject", "the body", "--act", "request")
		if r := term.prompt("what is new"); !said(r, "1 new message") {
			t.Fatalf("%v", r.Newest())
		}
		until(t, "the receipt", func() bool { return len(s.receipts("surfaced")) == 1 })
		term.kill()

		term = s.open(resumed(c, first)...)
		r := term.prompt("go on")
		if !r.Has("1 unread message") || !r.Has("good morning") {
			t.Fatalf("the resumed session was not told: %v", r.Newest())
		}
		until(t, "presence", func() bool { return s.session().State == "busy" })
		if id := s.session().ID; id != first {
			t.Errorf("resumed as %s, was %s", id, first)
		}
		term.kill()
		if n := len(s.receipts("read")); n != 0 {
			t.Fatalf("%d read", n)
		}

		term = s.open()
		r = term.prompt("begin anew")
		if !r.Has("1 unread message") || !r.Has("you are coder") || r.Has("good morning") {
			t.Fatalf("the new session was not told: %v", r.Newest())
		}
		s.told("the body", 1)
		term.rests()
		if id := s.session().ID; id == first {
			t.Errorf("the new session is the old one: %s", id)
		}
		if n := len(s.receipts("read")); n != 1 {
			t.Errorf("%d read", n)
		}
	})
}
