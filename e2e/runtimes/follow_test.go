//go:build e2e && linux

package runtimes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// command types a command of the CLI's own, until it is taken.
func (s *terminal) command(line string, taken func() bool) {
	s.t.Helper()
	s.typed(line)
	var pressed time.Time
	until(s.t, line, func() bool {
		if !pressed.IsZero() && taken() {
			return true
		}
		if time.Since(pressed) > 3*time.Second {
			s.keys("Enter")
			pressed = time.Now()
		}
		return false
	})
}

// whoami has the session ask post who it is, and returns the answer.
func (s *terminal) whoami(n int) string {
	s.t.Helper()
	prompt := fmt.Sprintf("who are you now, %d", n)
	s.prompt(prompt)
	r := s.await("the answer to "+prompt, func(r stubmodel.Request) bool {
		return (r.Agent == s.name) && r.Sort == stubmodel.Turn && r.NewestHas(`"why"`) && r.Has(prompt)
	})
	s.quiet()
	results := r.Results()
	return results[len(results)-1].Text
}

const isCoder = `"agent":"coder"`

// A session that is cleared, compacted, resumed or forked stays its agent.
func TestIdentityFollows(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(stubmodel.Rule{When: "who are you now", Then: stubmodel.Shell("post where --json")}))
		s := u.sit("coder", c).installed()
		term := s.open()
		wants(t, term.whoami(1), isCoder)
		first := s.session().ID

		clear := map[string]string{"claude": "/clear", "codex": "/clear"}[c.name]
		term.command(clear, func() bool {
			return c.name == "codex" && !strings.Contains(term.screen(), "› /clear") || s.session().ID != first
		})
		wants(t, term.whoami(2), isCoder)
		second := s.session().ID
		if second == first {
			t.Errorf("%s made no new session", clear)
		}

		before := len(u.model.Requests("coder"))
		term.command("/compact", func() bool { return len(u.model.Requests("coder")) > before })
		term.quiet()
		wants(t, term.whoami(3), isCoder)
		if !slices.ContainsFunc(u.model.Turns("coder"), func(r stubmodel.Request) bool { return r.Has("you are still the agent coder") }) {
			t.Error("it was not told who it is after the compaction")
		}

		term.kill()
		term = s.open(resumed(c, second)...)
		wants(t, term.whoami(4), isCoder)

		term.kill()
		fork := map[string][]string{"claude": {"--resume", second, "--fork-session"}, "codex": {"fork", second}}[c.name]
		term = s.open(fork...)
		wants(t, term.whoami(5), isCoder)
		if third := s.session().ID; third == second {
			t.Errorf("the fork has the same id")
		}
		for _, r := range u.model.Turns("coder") {
			if r.Has("another live session") || r.Has("no longer coder") {
				t.Errorf("it was taken for a guest: %v", r.Newest())
				break
			}
		}
	})
}

// A second session in the place of a living one, and a fork beside it, are
// guests: told so once, heard by nobody. A session that runs one prompt is nobody.
func TestGuests(t *testing.T) {
	t.Parallel()
	on(t, "claude codex", func(t *testing.T, c cli) {
		u := newUser(t, stubmodel.Rules(
			stubmodel.Rule{When: "who are you now", Then: stubmodel.Shell("post where --json")},
			stubmodel.Rule{When: "try to send", Then: stubmodel.Shell("post send ann -m hello; echo exit $?; post send ann --as coder -m hello; echo exit $?; post done all-read --as coder; echo exit $?; " +
				"POSTROOM_AGENT=coder post send ann -m hello; echo exit $?; POSTROOM_SESSION= post send ann --as coder -m hello; echo exit $?")}))
		s := u.sit("coder", c)
		second := *s
		second.name = "second"
		third := *s
		third.name = "third"
		// One prompt first, when nobody is there: it takes no name.
		s.installed()
		u.mail("coder", "a subject", "a body", "--act", "request")
		if r := s.ask("just one thing"); r.exit != 0 {
			t.Fatalf("%v", r)
		}
		if s.session().ID != "" {
			t.Errorf("a session of one prompt is here: %+v", s.session())
		}
		for _, r := range u.model.Turns("coder") {
			if r.Has("you are coder") || r.Has("1 unread message") {
				t.Errorf("it was told: %v", r.Newest())
			}
		}

		term := s.open()
		wants(t, term.whoami(1), isCoder)
		holder := s.session().ID

		guest := second.open()
		if r := guest.prompt("hello from the second"); strings.Count(all(r), "another live session here speaks as coder") != 1 || r.Has("unread message") {
			t.Errorf("the second session was told: %v", r.Newest())
		}
		guest.quiet()
		if r := guest.prompt("hello again"); strings.Count(all(r), "another live session") != 1 {
			t.Errorf("the second session was told again: %v", r.Newest())
		}
		guest.quiet()
		guest.prompt("try to send")
		r := u.await("the attempts", func(r stubmodel.Request) bool { return r.Agent == "second" && strings.Count(all(r), "exit ") >= 5 })
		tried := r.Results()[len(r.Results())-1].Text
		if strings.Contains(tried, "exit 0") || strings.Contains(tried, "delivered") {
			t.Errorf("a guest spoke as the agent:\n%s", tried)
		}
		guest.quiet()

		fork := third.open(map[string][]string{"claude": {"--resume", holder, "--fork-session"}, "codex": {"fork", holder}}[c.name]...)
		fork.prompt("hello from the fork")
		if got := fork.whoami(2); strings.Contains(got, isCoder) {
			t.Errorf("the fork beside it is coder, too: %s", got)
		}
		if r := s.ask("another thing"); r.exit != 0 {
			t.Fatalf("%v", r)
		}
		wants(t, term.whoami(3), isCoder)
		if id := s.session().ID; id != holder {
			t.Errorf("the session is %s, was %s", id, holder)
		}
		list, err := os.ReadDir(filepath.Join(s.office, "agents", "ann", "inbox"))
		must(t, err)
		for _, f := range list {
			if strings.HasSuffix(f.Name(), ".json") {
				t.Errorf("ann got mail")
			}
		}
	})
}

// all is the text of a request's conversation.
func all(r stubmodel.Request) string {
	var b strings.Builder
	for _, e := range r.Entries {
		if e.Role != stubmodel.Assistant {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}
