//go:build e2e && linux

package runtimes

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/e2e/stubmodel"
)

// rest waits until nothing runs any more, by the hooks.
func (w woken) rest() { w.t.Helper(); w.presence("idle") }

// begins gives a prompt and waits until the hooks know of the turn.
func (w woken) begins(prompt string) stubmodel.Request {
	w.t.Helper()
	r := w.prompt(prompt)
	w.presence("busy")
	return r
}

// mailed sends a message that expects an answer, and returns its id.
func (w woken) mailed(subject, body string) string {
	w.t.Helper()
	w.someone()
	r := w.post("send", "coder", "--as", "ann", "--office", w.office, "--act", "request", "-s", subject, "-m", body)
	for _, word := range strings.Fields(r.out) {
		if strings.HasPrefix(word, "20") && strings.Count(word, "-") > 5 {
			return strings.TrimSuffix(word, ".")
		}
	}
	w.t.Fatalf("no id: %v", r)
	return ""
}

// events lists what the agent's own receipts say of a message.
func (w woken) events(id string) (list []string) {
	raw, err := os.ReadFile(w.office + "/agents/coder/receipts.jsonl")
	must(w.t, err)
	for _, line := range strings.Split(string(raw), "\n") {
		var r struct{ Event, ID string }
		if json.Unmarshal([]byte(line), &r) == nil && r.ID == id && !slices.Contains(list, r.Event) {
			list = append(list, r.Event)
		}
	}
	return list
}

// told counts the turns whose newest entries hold a text.
func (w woken) told(text string) (n int) {
	for _, r := range w.model.Turns("coder") {
		if r.NewestHas(text) {
			n++
		}
	}
	return n
}

// A life of a session with what post install wrote and nothing else: mail from
// before it began, at a prompt, in the middle of a turn, at its end. Who the
// session is the hooks and the session's shell know by its id. The last mail is
// never read: the session stops all the same.
func TestMailLife(t *testing.T) {
	t.Parallel()
	on(t, "gemini opencode qwen copilot", func(t *testing.T, c cli) {
		middle, end, stubborn := make(chan struct{}), make(chan struct{}), make(chan struct{})
		read := stubmodel.Shell("post read next")
		if c.name == "gemini" { // once its shell gave back nothing of a program that had ended well
			read = stubmodel.Shell("post read next; sleep 0.3")
		}
		u := newUser(t, stubmodel.Rules(
			stubmodel.Rule{When: "good morning", Once: true, Then: read},
			stubmodel.Rule{When: "body nought", Once: true, Then: stubmodel.Say("hello there")},
			stubmodel.Rule{When: "anything else", Once: true, Then: read},
			stubmodel.Rule{When: "body one", Once: true, Then: stubmodel.Say("it was one")},
			stubmodel.Rule{When: "work now", Once: true, Then: stubmodel.Shell("true").After(middle)},
			stubmodel.Rule{When: "new message for you", Once: true, Then: read},
			stubmodel.Rule{When: "body two", Once: true, Then: stubmodel.Say("worked")},
			stubmodel.Rule{When: "finish up", Once: true, Then: stubmodel.Say("finished").After(end)},
			stubmodel.Rule{When: "before you stop", Once: true, Then: read},
			stubmodel.Rule{When: "body three", Once: true, Then: stubmodel.Say("seen to")},
			stubmodel.Rule{When: "once more", Once: true, Then: stubmodel.Say("I will not").After(stubborn)},
		))
		s := u.sit("coder", c)
		s.onPath()
		s.join("--runtime", c.name, "--notify", "none")
		s.install()
		w := woken{&terminal{seat: s}}
		var ids []string
		mail := func(subject, body string) {
			t.Helper()
			ids = append(ids, w.mailed(subject, body))
		}
		mail("subject nought", "body nought")
		w.terminal = s.open()

		first := w.begins("good morning")
		if !first.Has("In it you are coder") || !first.Has("1 unread message") {
			t.Errorf("at the first turn: %v", first.Newest())
		}
		w.shows("hello there")
		w.rest()

		mail("subject one", "body one")
		if r := w.begins("anything else"); !r.NewestHas("1 new message for you") {
			t.Errorf("at a prompt: %v", r.Newest())
		}
		w.shows("it was one")
		w.rest()

		w.begins("work now")
		mail("subject two", "body two")
		close(middle)
		w.shows("worked")
		w.rest()

		w.begins("finish up")
		mail("subject three", "body three")
		close(end)
		w.shows("seen to")
		w.rest()

		before := w.told("before you stop")
		w.begins("once more")
		mail("subject four", "body four")
		close(stubborn)
		w.shows("I will not")
		w.rest()
		if n := w.told("before you stop") - before; n < 1 || n > 3 {
			t.Errorf("it was kept from stopping %d times", n)
		}

		for i, id := range ids {
			want := []string{"surfaced", "read"}[:2-i/4]
			if got := w.events(id); !slices.Equal(got, want) {
				t.Errorf("message %d: %v", i, got)
			}
		}
		w.authority()
	})
}

// authority looks with what rank words came to the model: those of mail as a
// tool's and no other, not even the subject.
func (w woken) authority() {
	w.t.Helper()
	for _, words := range []string{"body nought", "body one", "body two", "body three", "subject nought", "subject two"} {
		if roles := w.model.Roles(words); !slices.Equal(roles, []stubmodel.Role{stubmodel.ToolRole}) {
			w.t.Errorf("%q came as %v", words, roles)
		}
	}
	for _, words := range []string{"body four", "subject four"} {
		if roles := w.model.Roles(words); len(roles) > 0 {
			w.t.Errorf("%q came as %v", words, roles)
		}
	}
	for _, ours := range []string{"In it you are", "new message for you", "before you stop"} {
		w.t.Logf("%s: %q came as %v", w.cli.name, ours, w.model.Roles(ours))
	}
}
