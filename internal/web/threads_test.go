package web

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/mailbox"
	"github.com/postroom/postroom/internal/search"
)

// say sends one message of a conversation and routes it.
func (p *place) say(from, to string, act mail.Act, conversation, subject, body string) mail.ID {
	p.t.Helper()
	sent, err := p.Box(from).Send(mailbox.Draft{To: []string{to}, Act: act, Conversation: conversation, Subject: subject, Body: body, Again: true})
	if err != nil || sent[0].Err != nil {
		p.t.Fatal(err, sent)
	}
	p.Pass()
	p.Clock.Advance(time.Minute)
	return sent[0].Msg.ID
}

// wants looks for what a page must have, and must not.
func wants(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if without, ok := strings.CutPrefix(part, "!"); ok == strings.Contains(page, without) {
			t.Errorf("%q: %v", without, !ok)
		}
	}
}

// part asks for a live part as the page's own script does: where the page says.
func (p *place) part(page string) string {
	p.t.Helper()
	_, main, _ := strings.Cut(page, "<main")
	_, src, ok := strings.Cut(main, `data-src="`)
	src, _, _ = strings.Cut(src, `"`)
	if !ok {
		p.t.Fatal("no live part")
	}
	return p.ok(strings.ReplaceAll(src, "&amp;", "&"))
}

func TestThreads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester", "writer")
	wants(t, p.ok("/threads"), "No conversations yet")
	p.say("coder", "tester", mail.Request, "c-one", "Test <b>it</b>", "first words")
	p.say("coder", "writer", mail.Inform, "c-two", "Written", "second words")
	p.say("coder", "human", mail.Query, "c-three", "May I?", "third words")

	page := p.ok("/threads")
	wants(t, page, "Test &lt;b&gt;it&lt;/b&gt;", "tester owes an answer, due in", "waits for a person", "coder → writer", `data-live="journal approvals debts"`, "!<b>it")
	wants(t, p.part(page), "c-one", "c-two", "!<!doctype")
	wants(t, p.part(p.ok("/threads?show=owed&q=first+words")), "c-one", "!c-two", "!<!doctype")
	if a, b, c := strings.Index(page, "c-three"), strings.Index(page, "c-two"), strings.Index(page, "c-one"); a > b || b > c {
		t.Errorf("not the newest first: %d %d %d", a, b, c)
	}
	wants(t, p.ok("/threads?with=writer"), "c-two", "!c-one", "!c-three")
	wants(t, p.ok("/threads?show=waits"), "c-three", "!c-one", "!c-two")
	wants(t, p.ok("/threads?show=owed"), "c-one", "!c-two", "!c-three")
	wants(t, p.ok("/threads?q=second"), "c-two", "!c-one")
	wants(t, p.ok("/threads?q=nowhere"), "No thread fits")
	wants(t, p.ok("/threads?part=list&show=owed"), "c-one", "!<!doctype")
	for _, bad := range []string{"/threads?q=act:shout", "/threads?with=nobody", "/threads?before=2026-01-01T00-00-00-000Z-0000-00000000"} {
		w := p.get(bad)
		if w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", bad, w.Code)
		}
		wants(t, w.Body.String(), `role="alert"`)
	}
}

// TestPartsStayAsTheyAre: what a list was narrowed to is still so when it is
// fetched anew.
func TestPartsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	for path, want := range map[string]string{"/agents?all=1": "/agents?part=list&amp;all=1", "/debts?of=coder": "/debts?part=list&amp;of=coder",
		"/threads?show=owed&with=coder": "/threads?part=list&amp;show=owed&amp;with=coder"} {
		wants(t, p.ok(path), `data-src="`+want+`"`)
	}
}

// TestThreadsArePaged: every conversation is on one page, and on one only.
func TestThreadsArePaged(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	for i := range 2*threadsPage + 5 {
		p.Send("coder", "tester", mail.Inform, fmt.Sprintf("subject %d.", i), "words")
	}
	p.Pass()
	seen := map[string]int{}
	pages := 0
	for at := "/threads"; at != ""; pages++ {
		page := p.ok(at)
		for i := range 2*threadsPage + 5 {
			seen[fmt.Sprint(i)] += strings.Count(page, fmt.Sprintf("subject %d.", i))
		}
		at = ""
		if _, rest, ok := strings.Cut(page, `rel="next"`); ok && rest != "" {
			at = lastHref(page, `rel="next"`)
		}
	}
	if pages != 3 {
		t.Errorf("%d pages", pages)
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("subject %s is listed %d times", n, times)
		}
	}
}

// lastHref is the link of the element that has an attribute.
func lastHref(page, attr string) string {
	before, _, _ := strings.Cut(page, attr)
	i := strings.LastIndex(before, `href="`) + len(`href="`)
	href, _, _ := strings.Cut(before[i:], `"`)
	return strings.ReplaceAll(href, "&amp;", "&")
}

func TestThread(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	first := p.say("coder", "tester", mail.Request, "c-one", "Look", "some *words* [x](javascript:alert(1))")
	long := p.say("coder", "tester", mail.Inform, "c-one", "Re: look", strings.Repeat("long words\n\n", 1000)+"the end of it")
	ask := p.say("coder", "human", mail.Query, "c-one", "May I delete?", "It is old.")

	page := p.ok("/threads/c-one")
	wants(t, page, "<h1>Look</h1>", "some <em>words</em>", "!javascript:alert(1)\"", "tester owes an answer", "tester has not read it", "3 messages",
		`id="m-`+string(first), "May I delete?", "waits for your answer", "!the end of it", "Show all of it (12 KB)", "post thread c-one", "!Re: look")
	wants(t, p.ok("/threads/c-one?at="+string(long)+"&open="+string(long)), "the end of it", "asked-for")
	wants(t, p.part(page), "some <em>words</em>", "!<!doctype")
	wants(t, p.part(p.ok("/threads/c-one?at="+string(long)+"&open="+string(long))), "the end of it", "!<!doctype")
	if w := p.get("/threads/" + string(first)); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/threads/c-one?at="+string(first)+"#m-"+string(first) {
		t.Errorf("%d %s", w.Code, w.Header())
	}
	for _, none := range []string{"/threads/c-none", "/threads/..%2f..", "/threads/2026-01-01T00-00-00-000Z-0000-00000000"} {
		if w := p.get(none); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", none, w.Code)
		}
	}
	// Decided in place: what a person decides stands there.
	_, id, _ := strings.Cut(page, `action="/inbox/`)
	id, _, _ = strings.Cut(id, `"`)
	_, shown, _ := strings.Cut(page, `name="seen" value="`)
	shown, _, _ = strings.Cut(shown, `"`)
	if w := p.post("/inbox/"+id, "seen", shown, "verdict", "no", "text", "keep <it>"); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	wants(t, p.ok("/threads/c-one"), "rejected", "keep &lt;it&gt;", "!waits for your answer")
	wants(t, p.ok("/message/"+string(ask)), "decided by a person", "rejected")
}

// TestLongThread: ten thousand messages are shown in pieces, from both ends and
// from the middle, whoever asks.
func TestLongThread(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	const n = 3*turnsPage + 7
	var ids []mail.ID
	for i := range n {
		sent, err := p.Box("coder").Send(mailbox.Draft{To: []string{"tester"}, Act: mail.Inform, Conversation: "long", Subject: "Long", Body: fmt.Sprintf("turn %d.", i), Again: true})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sent[0].Msg.ID)
	}
	p.Pass()
	has := func(page string) (out []int) {
		for i := range n {
			if strings.Contains(page, fmt.Sprintf("<p dir=\"auto\">turn %d.</p>", i)) {
				out = append(out, i)
			}
		}
		return out
	}
	all := map[int]int{}
	for at, pages := "/threads/long", 0; at != ""; pages++ {
		page := p.ok(at)
		got := has(page)
		if len(got) > turnsPage || pages > 4 {
			t.Fatalf("%s: %d turns, page %d", at, len(got), pages)
		}
		for _, i := range got {
			all[i]++
		}
		at = ""
		if strings.Contains(page, `rel="prev"`) {
			at = lastHref(page, `rel="prev"`)
		}
	}
	if len(all) != n {
		t.Errorf("%d turns of %d", len(all), n)
	}
	page := p.ok("/threads/long?at=" + string(ids[60]))
	if got := has(page); !slices.Contains(got, 60) || got[0] != 50 || got[len(got)-1] != 89 {
		t.Errorf("%v", got)
	}
	wants(t, page, "50 earlier messages", fmt.Sprint(n-90, " later messages"), `data-live=""`)
	if got := has(p.ok("/threads/long?after=" + string(ids[n-3]))); len(got) != 2 {
		t.Errorf("%v", got)
	}
	begin := time.Now()
	p.ok("/threads/long")
	t.Logf("a piece of %d messages in %v", turnsPage, time.Since(begin))
}

func TestCutPiece(t *testing.T) {
	t.Parallel()
	var list []*mail.Message
	for i := range 100 {
		list = append(list, &mail.Message{ID: mail.ID(fmt.Sprint(i))})
	}
	for _, c := range []struct {
		p        piece
		from, to int
	}{
		{piece{}, 60, 100}, {piece{before: "60"}, 20, 60}, {piece{before: "5"}, 0, 5}, {piece{after: "59"}, 60, 100}, {piece{after: "95"}, 96, 100},
		{piece{at: "50"}, 40, 80}, {piece{at: "2"}, 0, 40}, {piece{at: "99"}, 89, 100}, {piece{at: "nothing"}, 60, 100},
	} {
		if from, to := cutPiece(list, c.p); from != c.from || to != c.to {
			t.Errorf("%+v: %d %d", c.p, from, to)
		}
	}
	if from, to := cutPiece(list[:3], piece{}); from != 0 || to != 3 {
		t.Error(from, to)
	}
}

func TestMessagePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	id := p.say("coder", "tester", mail.Request, "c-one", "Look <i>", "# Title\n\n<script>alert(1)</script>")
	page := p.ok("/message/" + string(id))
	wants(t, page, "Look &lt;i&gt;", "<h4 dir=\"auto\">Title</h4>", "&lt;script&gt;alert(1)", "!<script>alert", "stored in the sender&#39;s outbox", "delivered to the inbox",
		"tester owes coder an answer", "all as delivered", "post trace "+string(id), "post renotify", `data-live="journal approvals debts"`)
	wants(t, p.ok("/message/"+string(id)+"?written"), "# Title")
	wants(t, p.part(page), "delivered to the inbox", "!<!doctype")

	raw := p.get("/message/" + string(id) + "?raw")
	file, err := os.ReadFile(filepath.Join(p.Dir, "agents/tester/inbox", string(id)+".json"))
	if err != nil || raw.Body.String() != string(file) {
		t.Errorf("%v %s", err, raw.Body)
	}
	if h := raw.Header(); h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", h)
	}
	if w := p.get("/message/" + id.Short()); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/message/"+string(id) {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := p.get("/message/2026-01-01T00-00-00-000Z-0000-00000000"); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
	// Somebody changes the recipient's copy.
	p.Edit(filepath.Join(p.Dir, "agents/tester/inbox", string(id)+".json"), func(s string) string { return strings.ReplaceAll(s, "Title", "Titel") })
	wants(t, p.ok("/message/"+string(id)), "something differs", "is NOT what was delivered", "!all as delivered")
}

func TestSearchPage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	for i := range hitsPage + 5 {
		p.Send("coder", "tester", mail.Inform, fmt.Sprintf("Report %d", i), "the retry loop <b>again</b>")
	}
	p.Send("tester", "coder", mail.Request, "Retry", "once")
	p.Pass()
	wants(t, p.ok("/search"), "What may be said", "!Nothing found")
	page := p.ok("/search?q=retry")
	wants(t, page, "<mark>retry</mark>", "&lt;b&gt;again", "from:coder", "act:request", `rel="next"`, "of all 26 hits", "Best first")
	wants(t, p.ok("/search?q=retry+from:tester"), "Without from:tester", "!<mark>retry</mark> loop", `rel="next"`[:0])
	wants(t, p.ok(lastHref(page, `rel="next"`)), "Report 0", "!Report 24")
	wants(t, p.ok("/search?q=retry&best=1"), "Newest first")
	wants(t, p.ok("/search?q=unheardof"), "Nothing found")
	for _, bad := range []string{"act:shout", `"open`, "frm:coder", "from:nobody", "..."} {
		w := p.get("/search?q=" + url.QueryEscape(bad))
		if w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", bad, w.Code)
		}
		wants(t, w.Body.String(), `role="alert"`, `aria-invalid="true"`)
	}
}

// TestWhileTheIndexIsBuilt: the page says so, shows progress and what there is.
func TestWhileTheIndexIsBuilt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	id := p.say("coder", "tester", mail.Inform, "c-one", "Look", "words")
	f := &p.site.behind.finder
	f.wait, f.reading, f.state.Percent = time.Millisecond, make(chan struct{}), 42 // somebody builds it, and takes long
	wants(t, p.ok("/threads"), "built for the first time: 42 %", "<progress", "data-poll", "c-one", "Look")
	wants(t, p.ok("/threads/c-one"), "42 %", "words")
	wants(t, p.ok("/search?q=words"), "42 %", "data-poll", "!Nothing found")
	wants(t, p.part(p.ok("/search?q=words")), "42 %", "!<!doctype")
	wants(t, p.ok("/message/"+string(id)), "delivered to the inbox")
	close(f.reading)
	f.reading, f.wait = nil, time.Minute
	wants(t, p.ok("/threads"), "c-one", "!data-poll")
	wants(t, p.ok("/search?q=words"), "<mark>words</mark>")
	p.site.Close()
}

// TestWithoutAnIndex: whatever is wrong with it, the pages say so and show what
// the office itself has.
func TestWithoutAnIndex(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder", "tester")
	p.say("coder", "tester", mail.Inform, "c-one", "Look", "some words")
	state := p.site.Env.User().Dir
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "search"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, p.ok("/threads"), `role="alert"`, "search index", "What to do", "c-one", "Look")
	wants(t, p.ok("/threads/c-one"), `role="alert"`, "some words")
	wants(t, p.ok("/message/"+string(p.say("coder", "tester", mail.Inform, "c-one", "Re: Look", "more"))), "delivered to the inbox")
	if w := p.get("/search?q=words"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "search index") {
		t.Errorf("%d", w.Code)
	}
	// The office has one message no more: it is named, and the rest is there.
	if err := os.Remove(filepath.Join(state, "search")); err != nil {
		t.Fatal(err)
	}
	gone := p.say("coder", "tester", mail.Inform, "c-one", "Gone", "will be gone")
	wants(t, p.ok("/threads/c-one"), "will be gone")
	if err := os.Remove(filepath.Join(p.Dir, "messages", gone.Month(), string(gone)+".json")); err != nil {
		t.Fatal(err)
	}
	wants(t, p.ok("/threads/c-one"), "some words", "does not have "+string(gone), "post verify", "!will be gone")
	wants(t, p.ok("/threads"), "cannot be read: post verify")
	wants(t, p.ok("/search?q=words"), "<mark>words</mark>")
}

func TestFacets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC)
	hit := func(from, to string, ago time.Duration, state string) search.Hit {
		return search.Hit{Message: &mail.Message{From: from, To: to, Act: mail.Inform, CreatedAt: now.Add(-ago)}, States: []search.State{{Agent: to, State: state}}}
	}
	hits := []search.Hit{hit("a", "b", time.Minute, "read"), hit("a", "c", 2*time.Hour, "unread"), hit("c", "b", 48*time.Hour, "read")}
	var got []string
	for _, g := range facetsOf("words to:b", hits, now) {
		for _, r := range g.List {
			got = append(got, fmt.Sprint(g.Label, " ", r.Label, " ", r.N, " ", r.Href))
		}
	}
	want := []string{"From a 2 /search?q=words+to%3Ab+from%3Aa", "From c 1 /search?q=words+to%3Ab+from%3Ac",
		"State read 2 /search?q=words+to%3Ab+state%3Aread", "State unread 1 /search?q=words+to%3Ab+state%3Aunread",
		"When last hour 1 /search?q=words+to%3Ab+after%3A1h", "When last day 2 /search?q=words+to%3Ab+after%3A1d"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var chips []string
	for _, c := range chipsOf(`"from:x y" from:a  -to:b word http://x`) {
		chips = append(chips, c.Part+" "+c.Href)
	}
	if want := []string{`from:a /search?q=%22from%3Ax+y%22+-to%3Ab+word+http%3A%2F%2Fx`, `-to:b /search?q=%22from%3Ax+y%22+from%3Aa+word+http%3A%2F%2Fx`}; !slices.Equal(chips, want) {
		t.Errorf("%q", chips)
	}
}

func TestFateOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list []search.State
		want string
	}{
		{nil, ""}, {[]search.State{{Agent: "a", State: "read"}}, "read by a"}, {[]search.State{{Agent: "a", State: "unread"}, {State: "asked"}}, "a has not read it"},
		{[]search.State{{Agent: "a", State: "read"}, {Agent: "b", State: "read"}, {Agent: "c", State: "unread"}, {Agent: "d", State: "done"}}, "1 done, 2 read, 1 unread"},
	} {
		if got := fateOf(c.list); got != c.want {
			t.Errorf("%v: %q", c.list, got)
		}
	}
	for in, want := range map[string]string{"Re: re: x": "x", " Re:x": "x", "Rex": "Rex", "": ""} {
		if got := bareSubject(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
