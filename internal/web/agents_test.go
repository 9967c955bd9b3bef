package web

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/officetest"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/standing"
)

func TestAgentsOf(t *testing.T) {
	t.Parallel()
	var list []standing.Agent
	for i := range agentsPage + 5 {
		list = append(list, standing.Agent{Name: fmt.Sprintf("a%03d", i)})
	}
	slices.Reverse(list)
	v := agentsOf(list, "", "")
	if len(v.Rows) != agentsPage || v.Rows[0].Name != "a000" || v.Next != "a099" || !v.First {
		t.Errorf("%d rows, next %q, first %v", len(v.Rows), v.Next, v.First)
	}
	v = agentsOf(list, v.Next, "")
	if len(v.Rows) != 5 || v.Rows[0].Name != "a100" || v.Next != "" || v.First {
		t.Errorf("then %d rows, next %q, first %v", len(v.Rows), v.Next, v.First)
	}
}

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dir, home, want string }{
		{"", "/home/me", ""},
		{"/home/me/src/app/back", "/home/me", "…/app/back"},
		{"/home/me/app", "/home/me", "~/app"},
		{"/home/me/src/app", "/home/me", "~/src/app"},
		{"/home/meow/app", "/home/me", "…/meow/app"},
		{"/srv/team/back/", "", "…/team/back"},
		{"/srv/team", "", "/srv/team"},
	} {
		if got := placeOf(c.dir, c.home); got != c.want {
			t.Errorf("%q: %q, want %q", c.dir, got, c.want)
		}
	}
}

func TestCommandsOf(t *testing.T) {
	t.Parallel()
	lines := func(a standing.Agent) (out string) {
		for _, c := range commandsOf(a, " --office /o") {
			out += c.Line + "\n"
		}
		return out
	}
	for _, c := range []struct {
		what  string
		a     standing.Agent
		has   string
		hasnt string
	}{
		{"plain", standing.Agent{Name: "ann"}, "post send ann --as human -s SUBJECT -f FILE --office /o\npost agent show ann --office /o\n", "post start"},
		{"archived", standing.Agent{Name: "ann", Archived: true, Launch: []string{"x"}}, "post agent unarchive ann --office /o", "post s"},
		{"startable", standing.Agent{Name: "ann", Launch: []string{"x"}}, "post start ann --office /o", "post logs"},
		{"started", standing.Agent{Name: "ann", Launch: []string{"x"}, Started: &standing.Started{Attach: []string{"tmux", "-S", "/tmp/it's", "attach"}}},
			"tmux -S '/tmp/it'\\''s' attach\npost logs ann --office /o\npost restart ann --office /o\n", "post start"},
	} {
		if got := lines(c.a); !strings.Contains(got, c.has) || strings.Contains(got, c.hasnt) {
			t.Errorf("%s: %s", c.what, got)
		}
	}
}

func TestWakeWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		w    standing.Wake
		want string
	}{
		{standing.Wake{State: standing.WakeOK, At: ago(time.Minute)}, ", which works, tried 1m ago"},
		{standing.Wake{State: standing.WakeFailing, Evidence: "no such pane", Tries: 2, NextTry: ago(-time.Minute)}, ", which fails: no such pane, again in 1m"},
		{standing.Wake{State: standing.WakeNoSession}, ", but there is no session"},
		{standing.Wake{State: standing.WakeUnknown}, ""},
	} {
		if got := wakeWords(&c.w, noon); got != c.want {
			t.Errorf("%+v: %q", c.w, got)
		}
	}
}

func TestAgentPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	t.Cleanup(p.site.Close)
	id := p.Mail("ann", "bob", mail.Request, "Look", "…")
	p.Mail("bob", "ann", mail.Query, "Where", "?")
	p.Send("bob", "ann", mail.Inform, "waits to go out", "…")
	page := p.ok("/agents")
	for _, want := range []string{`href="/agents/ann"`, `href="/agents/bob"`, "active"} {
		if !strings.Contains(page, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	if part := p.ok("/agents?part=list&all=1"); strings.Contains(part, "<html") || !strings.Contains(part, "/agents/ann") {
		t.Error(part)
	}
	page = p.ok("/agents/bob")
	for _, want := range []string{"<b>1</b> unread", "<b>1</b> in the inbox", "<b>1</b> delivered", "<b>1</b> waiting", "<b>0</b> could not", "/message/" + string(id),
		"wants an answer", "What it owes", "What it is owed", "post agent show bob", "post send bob", "/compose?to=bob"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of bob lacks %q", want)
		}
	}
	w := p.get("/agents/bbo")
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "did you mean bob?") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// An agent of another station has no unread mail here, and no session to start.
func TestFarAgentPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann")
	t.Cleanup(p.site.Close)
	if err := officetest.LinkFar(p.Office(), "us", "lab", "bob"); err != nil {
		t.Fatal(err)
	}
	id := p.Mail("ann", "bob@lab", mail.Request, "Look", "…")
	p.Pass()
	for path, c := range map[string]struct{ has, lacks []string }{
		"/":               {[]string{"bob@lab", "at lab"}, []string{"postroom@lab"}},
		"/agents":         {[]string{`href="/agents/bob@lab"`, "at lab", "on the way"}, []string{"postroom@lab", "unreadable"}},
		"/agents/bob@lab": {[]string{"<b>1</b> on the way there", "post send bob@lab"}, []string{"unread</li>", "post start", "Behind"}},
		"/compose":        {[]string{"bob@lab", "human@lab"}, []string{"postroom@lab"}},
		"/message/" + string(id): {[]string{"it waits here for the link to lab", "put where the link takes it", "post link status"},
			[]string{"delivered to the inbox", "post renotify"}},
	} {
		page := p.ok(path)
		for _, want := range c.has {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
		for _, bad := range c.lacks {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
}

// A mailbox that can't be read is shown as such, and hides nobody.
func TestBrokenMailbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ann", "bob")
	t.Cleanup(p.site.Close)
	p.Mail("ann", "bob", mail.Request, "Look", "…")
	if err := os.Rename(p.Path("agents", "bob", spool.Inbox), p.Path("agents", "bob", "gone")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/": "bob", "/agents": "unreadable", "/agents/bob": `class="warning"`, "/agents/ann": "ann"} {
		page := p.ok(path)
		if !strings.Contains(page, want) || !strings.Contains(page, "ann") {
			t.Errorf("%s lacks %q: %s", path, want, page)
		}
	}
}
