//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// talker is a model that reads whatever mail it is told of, and does what the
// scenario has for the words it reads.
func talker(seats map[string]*seat, answers func(s *seat, read string) (stubmodel.Reply, bool)) stubmodel.Script {
	return func(r stubmodel.Request) stubmodel.Reply {
		s := seats[r.Agent]
		for _, e := range r.Newest() {
			if reply, ok := answers(s, e.Text); ok {
				return reply
			}
		}
		if r.NewestHas("Postroom: ") && !r.NewestHas("good morning") {
			return s.readNext()
		}
		return stubmodel.Say("that was that")
	}
}

// A Claude Code and a Codex in two repositories talk, and nobody types after the
// first prompts: each is woken, reads, and answers, with what post setup and what
// it says to type made of their settings, and under their own permission rules.
func TestConversation(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"claude", "codex"}, {"codex", "claude"}} {
		t.Run(pair[0], func(t *testing.T) {
			t.Parallel()
			note(t, pair[0]+"+"+pair[1])
			conversation(t, pick(t, pair[0]), pick(t, pair[1]))
		})
	}
}

func conversation(t *testing.T, first, second cli) {
	seats := map[string]*seat{}
	agreed := false
	u := bareUser(t, talker(seats, func(s *seat, text string) (stubmodel.Reply, bool) {
		for _, step := range []struct {
			heard string
			reply func() stubmodel.Reply
		}{
			{"ask web for its port", func() stubmodel.Reply { return s.writes("web", "request", "The port", "open a port for me") }},
			{"open a port for me", func() stubmodel.Reply { return s.replies("query", "which environment shall it be") }},
			{"which environment shall it be", func() stubmodel.Reply { return s.replies("inform", "the production one") }},
			{"the production one", func() stubmodel.Reply {
				agreed = true
				return s.repliesTo(requestID(s.user), "agree", "it will be opened")
			}},
			{"it will be opened", func() stubmodel.Reply { return s.readNext() }}, // the next may be there already
			{"it is 8443", func() stubmodel.Reply { return stubmodel.Say("thanks, that is all") }},
		} {
			if strings.Contains(text, step.heard) {
				return step.reply(), true
			}
		}
		if s.name == "web" && agreed && strings.Contains(text, "delivered") {
			agreed = false
			return s.repliesTo(requestID(s.user), "done", "it is 8443"), true
		}
		return stubmodel.Reply{}, false
	}))
	api, web := u.sitGuarded("api", first), u.sitGuarded("web", second)
	seats["api"], seats["web"] = api, web
	for _, s := range []*seat{api, web} {
		s.onPath()
	}
	for _, s := range []*seat{api, web} {
		s.walk()
	}
	where := u.run(api.dir, u.env, given.Programs+"/post", "where", "--json")
	_, after, _ := strings.Cut(where.out, `"office":"`)
	office, _, _ := strings.Cut(after, `"`)
	u.office = office

	terms := map[string]*terminal{}
	for _, s := range []*seat{web, api} {
		term := s.open()
		term.prompt("good morning")
		term.rests()
		terms[s.name] = term
	}
	terms["api"].prompt("ask web for its port")
	u.await("the end", func(r stubmodel.Request) bool { return r.Agent == "api" && r.NewestHas("it is 8443") })
	terms["api"].rests()
	terms["web"].rests()

	acts, ids := thread(u)
	if want := []string{"request", "query", "inform", "agree", "done"}; !slices.Equal(acts, want) {
		t.Errorf("the thread is %v", acts)
	}
	u.ok("verify", "--office", office)
	if out := u.ok("owed", "--as", "api", "--office", office).out; strings.Contains(out, "web") {
		t.Errorf("something is owed still: %s", out)
	}
	for name, want := range map[string]int{"api": 3, "web": 2} {
		raw, err := os.ReadFile(filepath.Join(office, "transcripts", "_inbox_"+name+".md"))
		must(t, err)
		if n := len(regexp.MustCompile(`(?m)^## \[`).FindAllString(string(raw), -1)); n != want {
			t.Errorf("%d sections for %s:\n%s", n, name, raw)
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return strings.Contains(string(raw), id) })
		wakes := u.model.Turns(name)
		if !slices.ContainsFunc(wakes, func(r stubmodel.Request) bool {
			return slices.ContainsFunc(r.Newest(), func(e stubmodel.Entry) bool {
				return e.Role == stubmodel.User && e.Kind == stubmodel.Text && strings.Contains(e.Text, "Postroom: 1 new message")
			})
		}) {
			t.Errorf("%s was never woken", name)
		}
	}
	if len(ids) > 0 {
		t.Errorf("not in a transcript: %v", ids)
	}
	for _, words := range []string{"open a port for me", "which environment shall it be", "the production one", "it will be opened", "it is 8443"} {
		for _, role := range u.model.Roles(words) {
			if role != stubmodel.ToolRole && role != stubmodel.Assistant { // who wrote it has it among its own calls
				t.Errorf("%q came as %v", words, role)
			}
		}
	}
}

// thread are the acts and ids of the office's one conversation.
func thread(u *user) (acts, ids []string) {
	u.t.Helper()
	for line := range strings.Lines(u.ok("thread", "--json", "--office", u.office, "--as", "api", requestID(u)).out) {
		var m struct{ ID, Act string }
		if json.Unmarshal([]byte(line), &m) == nil && m.ID != "" {
			acts, ids = append(acts, m.Act), append(ids, m.ID)
		}
	}
	return acts, ids
}

// requestID is the id of the office's first request, "" if there is none.
func requestID(u *user) string {
	names, _ := filepath.Glob(filepath.Join(u.office, "messages", "*", "*.json"))
	for _, name := range names { // ids sort by time
		var m struct{ ID, Act string }
		raw, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(raw, &m) == nil && m.Act == "request" {
			return m.ID
		}
	}
	return ""
}
