package web

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/postroom/postroom/internal/mail"
)

// hidden reads the hidden fields of a page's form to send, as a browser does.
func hidden(page string) (fields []string) {
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`).FindAllStringSubmatch(page[strings.Index(page, `class="actions"`):], -1) {
		if m[1] != "csrf" && m[1] != "here" {
			fields = append(fields, m[1], html.UnescapeString(m[2]))
		}
	}
	return fields
}

func (p *place) inboxOf(name string) (subjects []string) {
	p.t.Helper()
	items, err := p.Box(name).List(false)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, it := range items {
		subjects = append(subjects, it.From+": "+it.Subject)
	}
	return subjects
}

// TestCompose: the form, who gets it, and once it is sent, where it went.
func TestCompose(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester", "writer")
	page := p.ok("/compose?to=coder")
	for _, want := range []string{`value="coder" list="names"`, `<option value="all">`, `<option value="tester">`, `value="inform" selected`} {
		if !strings.Contains(page, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	const body = "Line one\r\n<script>alert(1)</script>\r\n\"quoted\" & 'so'"
	w := p.post("/compose", "step", "preview", "to", "all", "act", "query", "subject", "Where do we <stand>?", "body", body)
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	page = w.Body.String()
	for _, name := range []string{"coder", "tester", "writer"} {
		if !strings.Contains(page, `/agents/`+name+`">`) {
			t.Errorf("%s is not shown: %s", name, page)
		}
	}
	if !strings.Contains(page, "Send to 3 agents") || strings.Contains(page, "<script>alert") || len(p.inboxOf("coder")) > 0 {
		t.Error(page)
	}
	fields := append(hidden(page), "step", "send")
	var all sync.WaitGroup
	places := make([]string, 3)
	for i := range places { // a triple click
		all.Go(func() {
			w := p.post("/compose", fields...)
			places[i] = w.Header().Get("Location")
			if w.Code != http.StatusSeeOther {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	p.Pass()
	for _, name := range []string{"coder", "tester", "writer"} {
		if got := p.inboxOf(name); len(got) != 1 || got[0] != "human: Where do we <stand>?" {
			t.Errorf("%s has %v", name, got)
		}
	}
	at, _, _ := strings.Cut(places[0], "?")
	if !strings.HasPrefix(at, "/message/") || !strings.HasPrefix(places[1], at) || !strings.HasPrefix(places[2], at) {
		t.Error(places)
	}
	m, _, err := p.Office().ReadMessage(mail.ID(strings.TrimPrefix(at, "/message/")))
	if err != nil || m.Body != strings.ReplaceAll(body, "\r\n", "\n") || m.From != mail.NameHuman || m.Act != mail.Query {
		t.Errorf("%+v %v", m, err)
	}
}

// TestComposeRefused: what the rules refuse is shown on the form, with all that
// was typed, and nothing is sent.
func TestComposeRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	for _, c := range []struct {
		step, to, body, says string
		status               int
	}{
		{"preview", "codr", "typed", "coder", 422},
		{"send", "codr", "typed", "coder", 422},
		{"preview", "", "typed", "no recipient", 422},
		{"preview", "coder", " ", "empty", 422},
		{"preview", "coder, codr", "typed", "codr", 422},
		{"edit", "coder", "typed", "", 200},
	} {
		w := p.post("/compose", "step", c.step, "to", c.to, "subject", "", "body", c.body)
		page := w.Body.String()
		if w.Code != c.status || !strings.Contains(page, c.says) || !strings.Contains(page, "<textarea") || c.body == "typed" && !strings.Contains(page, "typed</textarea>") {
			t.Errorf("%+v: %d %s", c, w.Code, page)
		}
	}
	if got := p.inboxOf("coder"); len(got) > 0 {
		t.Error(got)
	}
}

// TestComposeReply answers a message: its sender, subject and parent are there.
func TestComposeReply(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	id := p.Mail("coder", mail.NameHuman, mail.Inform, "The build", "It is green.")
	page := p.ok("/compose?reply=" + string(id))
	if !strings.Contains(page, `value="coder" list`) || !strings.Contains(page, `value="Re: The build"`) || !strings.Contains(page, "It is green.") ||
		!strings.Contains(page, `name="reply" value="`+string(id)) {
		t.Error(page)
	}
	if w := p.get("/compose?reply=2026-05-30T11-03-11-123Z-0004-a1b2c3d4"); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := p.get("/compose?reply=" + strings.Repeat("x", 10)); w.Code < 400 {
		t.Errorf("%d", w.Code)
	}
}
