package remote_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"context"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/notify"
	"github.com/postroom/postroom/internal/notify/notifytest"
	"github.com/postroom/postroom/internal/notify/remote"
)

// hostile is what an agent may write where the person wants to see it.
const hostile = `"}], <!channel> <https://evil.example|docs> @everyone & {{command}} \ \u0000`

func personPointer(t *testing.T) notify.Pointer {
	p := notifytest.Pointer(t, "coder")
	p.Agent, p.Count, p.IDs = "human", 1, p.IDs[:1]
	p.Text = "1 question waits for you: run `post approvals ap-0123456789`"
	p.Asks = []notify.Asked{{Approval: "ap-0123456789", Kind: "question", From: "coder", Subject: hostile, Body: "line\ntwo " + strings.Repeat("é", 900)}}
	return p
}

// tell posts a person's notice to a loopback server, and returns what that got.
func tell(t *testing.T, args ...string) (h *hook, out notify.Outcome) {
	t.Helper()
	h = newHook(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	agent := notify.Agent{Name: "human", Notify: append([]string{"webhook", h.URL + "/services/T0/s3cret"}, args...)}
	out, _ = remote.NewWebhook().Notify(ctx, agent, personPointer(t))
	return h, out
}

func object(t *testing.T, h *hook) map[string]any {
	t.Helper()
	var got map[string]any
	if len(h.bodies) != 1 {
		t.Fatalf("the target took %d", len(h.bodies))
	}
	if err := json.Unmarshal([]byte(h.bodies[0]), &got); err != nil {
		t.Fatalf("%v: %s", err, h.bodies[0])
	}
	return got
}

func TestSlack(t *testing.T) {
	t.Parallel()
	h, out := tell(t, "template:slack")
	if out.State != notify.Notified {
		t.Fatalf("%+v", out)
	}
	text, _ := object(t, h)["text"].(string)
	if !strings.HasPrefix(text, "Postroom: coder asks you\n1 question waits for you: run `post approvals ap-0123456789`\ncoder writes: ") {
		t.Errorf("%q", text)
	}
	if strings.ContainsAny(text, "<>") || !strings.Contains(text, "&lt;!channel&gt;") || !strings.Contains(text, "{{command}}") {
		t.Errorf("a mention or a link of an agent's: %q", text)
	}
}

func TestDiscord(t *testing.T) {
	t.Parallel()
	h, out := tell(t, "template:discord")
	if out.State != notify.Notified {
		t.Fatalf("%+v", out)
	}
	got := object(t, h)
	text, _ := got["content"].(string)
	if !strings.HasPrefix(text, "Postroom: coder asks you\n") || len([]rune(text)) > 2000 {
		t.Errorf("%d characters: %q", len([]rune(text)), text)
	}
	mentions, _ := got["allowed_mentions"].(map[string]any)
	if parse, ok := mentions["parse"].([]any); !ok || len(parse) != 0 {
		t.Errorf("an agent may mention everybody: %v", got)
	}
}

func TestNtfy(t *testing.T) {
	t.Parallel()
	h, out := tell(t, "template:ntfy")
	if out.State != notify.Notified {
		t.Fatalf("%+v", out)
	}
	got := h.seen()[0]
	if !strings.Contains(got, "Title: Postroom: coder asks you\r\n") || !strings.Contains(got, "Content-Type: text/plain") || !strings.HasPrefix(got, "POST /services/T0/s3cret\n") {
		t.Errorf("%q", got)
	}
	if b := h.bodies[0]; !strings.HasPrefix(b, "1 question waits for you") || len(b) > 4096 {
		t.Errorf("%d bytes: %q", len(b), b)
	}
}

func TestGenericNamesTheApprovals(t *testing.T) {
	t.Parallel()
	h, _ := tell(t)
	asks, _ := object(t, h)["asks"].([]any)
	if len(asks) != 1 || asks[0].(map[string]any)["approval"] != "ap-0123456789" {
		t.Errorf("%s", h.bodies[0])
	}
}

// A template of one's own: whatever stands in a value, it stays a string.
func TestTemplateFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	h, out := tell(t, "template:@"+file("good", `{"summary": "{{ title }}", "list": ["{{ids}}", "{{approvals}}", "{{text}}"], "n": "{{count}}"}`))
	if out.State != notify.Notified {
		t.Fatalf("%+v", out)
	}
	got := object(t, h)
	list, _ := got["list"].([]any)
	if got["summary"] != "Postroom: coder asks you" || got["n"] != "1" || len(list) != 3 || list[1] != "ap-0123456789" || !strings.Contains(list[2].(string), hostile) {
		t.Errorf("%v", got)
	}
	const url = "https://example.invalid/x"
	for name, text := range map[string]string{"unknown": `{"a":"{{body}}"}`, "open": `{"a":"{{text"}`, "nojson": `hello {{text}}`, "bare": `{"a":{{text}}}`} {
		if _, err := remote.NewWebhook().Check([]string{url, "template:@" + file(name, text)}); mail.KindOf(err) != mail.KindUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, arg := range []string{"template:teams", "template:@relative", "template:@" + dir, "template:@" + filepath.Join(dir, "none")} {
		if _, err := remote.NewWebhook().Check([]string{url, arg}); mail.KindOf(err) != mail.KindUsage {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

// The URL may stand in a file, and is shown nowhere.
func TestURLFromFile(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte(h.URL+"/services/T0/s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{200, 500} {
		h.status(status)
		out, err := call(t, "@"+file, "template:slack")
		if (out.State == notify.Notified) != (status == 200) || strings.Contains(out.Evidence, "s3cret") || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d: %+v, %v", status, out, err)
		}
	}
	for _, bad := range []string{"@url", "@" + filepath.Dir(file)} {
		if _, err := remote.NewWebhook().Check([]string{bad}); mail.KindOf(err) != mail.KindUsage {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Every template keeps the contract.
func TestTemplatesContract(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"slack", "discord", "ntfy"} {
		notifytest.Run(t, func(t *testing.T) notifytest.Fixture {
			h := newHook(t)
			return notifytest.Fixture{
				Adapter: remote.NewWebhook(), Agent: notify.Agent{Notify: []string{"webhook", h.URL + "/s3cret", "template:" + name}},
				Seen: h.seen, Refuse: func() { h.status(500) },
			}
		})
	}
}
