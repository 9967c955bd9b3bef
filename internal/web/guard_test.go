package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
)

// routes are all that a person can ask for, and what has to be posted there.
func routes() (get, post []string) {
	return []string{"/", "/inbox", "/inbox/ap-0123456789", "/threads", "/threads/conv-1", "/message/x", "/agents", "/agents/coder",
			"/search", "/search?q=x", "/health", "/compose", "/debts", "/live", "/nowhere", "/inbox?part=list"},
		[]string{"/inbox/ap-0123456789", "/compose", "/debts/remind", "/debts/waive", "/theme", "/leave"}
}

// secrets is what nobody without a session may see.
func (p *place) tells(body string) bool {
	return strings.Contains(body, "coder") || strings.Contains(body, p.Dir) || strings.Contains(body, "Deploy")
}

func (p *place) request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	r.Host = host
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+host)
	}
	return r
}

func (p *place) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w
}

// TestEveryRouteIsGuarded: without a session, with one of somebody else, by
// another name, from another page, without the form's token, nothing is shown
// and nothing is done.
func TestEveryRouteIsGuarded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	id := p.ask("coder", "Deploy?")
	in := func(r *http.Request) *http.Request {
		r.AddCookie(&http.Cookie{Name: p.site.cookieName(), Value: p.session})
		return r
	}
	form := url.Values{"csrf": {formToken(p.session)}, "text": {"yes"}, "seen": {""}}.Encode()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	cases := []struct {
		name string
		in   bool // a good session comes with it
		form string
		mend func(*http.Request)
		get  int // the status that a page answers with; 0: not asked
		post int
	}{
		{"no session", false, form, nil, 401, 401},
		{"made-up session", false, form, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: p.site.cookieName(), Value: strings.Repeat("A", 26)})
		}, 401, 401},
		{"a path as session", false, form, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: p.site.cookieName(), Value: "../../x"})
		}, 401, 401},
		{"another host", true, form, func(r *http.Request) { r.Host = "evil.example" }, 403, 403},
		{"a host that only begins like ours", true, form, func(r *http.Request) { r.Host = "127.0.0.1.evil.example:7" }, 403, 403},
		{"localhost of somebody else", true, form, func(r *http.Request) { r.Host = "localhost.evil.example" }, 403, 403},
		{"another origin", true, form, header("Origin", "http://evil.example"), 403, 403},
		{"our host at another port", true, form, header("Origin", "http://127.0.0.1:8"), 403, 403},
		{"our host with TLS", true, form, header("Origin", "https://"+host), 403, 403},
		{"origin null", true, form, header("Origin", "null"), 403, 403},
		{"no origin", true, form, func(r *http.Request) { r.Header.Del("Origin") }, 0, 403},
		{"same site, other origin", true, form, header("Sec-Fetch-Site", "same-site"), 403, 403},
		{"an image of another page", true, form, header("Sec-Fetch-Site", "cross-site"), 403, 403},
		{"no form token", true, "text=yes", nil, 0, 403},
		{"another session's form token", true, "csrf=" + formToken("x"), nil, 0, 403},
		{"form token in the address only", true, "text=yes", func(r *http.Request) { r.URL.RawQuery = "csrf=" + formToken(p.session) }, 0, 403},
		{"a form that is no form", true, "%zz", nil, 0, 422},
	}
	get, post := routes()
	post = append(post, "/inbox/"+id)
	get = append(get, "/inbox/"+id)
	for _, c := range cases {
		ask := func(method string, paths []string, want int) {
			if want == 0 {
				return
			}
			for _, path := range paths {
				r := p.request(method, path, c.form)
				if c.in {
					in(r)
				}
				if c.mend != nil {
					c.mend(r)
				}
				w := p.send(r)
				if w.Code != want || p.tells(w.Body.String()) && c.name != "a form that is no form" {
					t.Errorf("%s: %s %s: %d %s", c.name, method, path, w.Code, w.Body)
				}
				if w.Header().Get("Content-Security-Policy") != policyHeader || w.Header().Get("X-Frame-Options") != "DENY" {
					t.Errorf("%s: %s %s: headers %v", c.name, method, path, w.Header())
				}
			}
		}
		ask(http.MethodGet, get, c.get)
		ask(http.MethodPost, post, c.post)
	}
	if _, d, err := approval.Get(p.Office().FS, id); err != nil || d != nil {
		t.Fatalf("decided: %+v %v", d, err)
	}
	r := in(p.request(http.MethodGet, "/inbox", ""))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	if w := p.send(r); w.Code != http.StatusOK { // a link in a notice
		t.Errorf("a link from elsewhere: %d", w.Code)
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS"} {
		if w := p.send(in(p.request(method, "/inbox/"+id, ""))); w.Code < 400 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

// TestHosts: by which names this machine's page may be asked for.
func TestHosts(t *testing.T) {
	t.Parallel()
	home := New(Options{Env: newPlace(t).site.Env})
	away := New(Options{Env: home.Env, Hosts: []string{"box.example"}, TLS: true})
	for name, want := range map[string][2]bool{
		"127.0.0.1:7": {true, false}, "[::1]:7": {true, false}, "localhost": {true, false}, "LOCALHOST:1": {true, false},
		"p-abc.localhost:7": {true, false}, "127.8.8.8": {true, false}, "box.example:8443": {false, true}, "BOX.example.": {false, true},
		"": {false, false}, "10.0.0.1": {false, false}, "xlocalhost": {false, false}, "evil.example": {false, false},
		"localhost.evil.example": {false, false}, "0x7f000001": {false, false}, "2130706433": {false, false},
	} {
		if got := [2]bool{home.ownHost(name), away.ownHost(name)}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if !strings.HasPrefix(away.cookieName(), "__Host-") || !away.cookie("x", 1).Secure {
		t.Error("the cookie may go without TLS")
	}
}

// TestOneTimeLink: a link works once, in time, by its own name; of many at the
// same time one gets in.
func TestOneTimeLink(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	dir := p.site.sessions.dir
	link := func(name string) string {
		once, err := Link(dir, name, p.Clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return once
	}
	enter := func(once, name string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://"+name+"/enter?once="+url.QueryEscape(once), nil)
		r.Host = name
		return p.send(r)
	}
	once := link("p-a.localhost:7")
	if w := enter(once, "p-b.localhost:7"); w.Code != http.StatusUnauthorized {
		t.Errorf("by another name: %d", w.Code)
	}
	r := httptest.NewRequest("GET", "http://p-a.localhost:7/enter?once="+once, nil)
	r.Host = "p-a.localhost:7"
	r.Header.Set("Sec-Purpose", "prefetch;prerender")
	if w := p.send(r); w.Code != http.StatusNoContent {
		t.Errorf("a look ahead: %d", w.Code)
	}
	w := enter(once, "p-a.localhost:7")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("%+v", c)
	}
	if w := enter(once, "p-a.localhost:7"); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "used already") {
		t.Errorf("a second time: %d %s", w.Code, w.Body)
	}
	for name, want := range map[string]int{"p-a.localhost:7": 200, "p-b.localhost:7": 401, "127.0.0.1:7": 401} {
		r := httptest.NewRequest("GET", "http://"+name+"/inbox", nil)
		r.Host = name
		r.AddCookie(c)
		if w := p.send(r); w.Code != want {
			t.Errorf("the session by %s: %d", name, w.Code)
		}
	}
	late := link("")
	p.Clock.Advance(linkLife)
	for _, bad := range []string{late, "", "x", "../once", strings.Repeat("A", 500)} {
		if w := enter(bad, host); w.Code != http.StatusUnauthorized {
			t.Errorf("%q: %d", bad, w.Code)
		}
	}
	again := link("")
	var got sync.Map
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { got.Store(i, enter(again, host).Code) })
	}
	all.Wait()
	n := 0
	got.Range(func(_, code any) bool {
		if code == http.StatusSeeOther {
			n++
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d got in", n)
	}
}

// TestNothingOnDiskLetsIn: what is kept are digests, that only the user can read.
func TestNothingOnDiskLetsIn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	once, err := Link(p.site.sessions.dir, "", p.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(p.site.sessions.dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if text := f + string(data); strings.Contains(text, once) || strings.Contains(text, p.session) {
			t.Errorf("%s holds a secret", f)
		}
		if fi, err := os.Stat(f); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", fi.Mode(), err)
		}
		kind, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".json"), "-")
		for _, value := range []string{name, kind + "-" + name} {
			r := p.request("GET", "/inbox", "")
			r.AddCookie(&http.Cookie{Name: p.site.cookieName(), Value: value})
			if w := p.send(r); w.Code != http.StatusUnauthorized {
				t.Errorf("%s lets in", value)
			}
		}
	}
}

// TestSessions end: by time, by leaving, by being shut out. A restart ends none.
func TestSessions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.handler = New(p.site.Options).Handler() // a server that was started anew
	p.ok("/inbox")
	other := p.enter()
	if w := p.post("/leave"); w.Code != http.StatusSeeOther {
		t.Error(w.Code)
	}
	if w := p.get("/inbox"); w.Code != http.StatusUnauthorized {
		t.Errorf("after leaving: %d", w.Code)
	}
	other.ok("/inbox")
	if n, err := Revoke(p.site.sessions.dir); n != 1 || err != nil {
		t.Error(n, err)
	}
	if w := other.get("/inbox"); w.Code != http.StatusUnauthorized {
		t.Errorf("shut out: %d", w.Code)
	}
	third := p.enter()
	p.Clock.Advance(sessionLife + time.Second)
	if w := third.get("/inbox"); w.Code != http.StatusUnauthorized {
		t.Errorf("after a month: %d", w.Code)
	}
}

// TestRedirects stay on the page.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/inbox": "/inbox", "/message/x?part=1": "/message/x?part=1", "": "/", "inbox": "/", "//evil.example": "/", "/\\evil.example": "/",
		"http://evil.example": "/", "https:/evil": "/", "/\tevil": "/", "/a\r\nSet-Cookie: x": "/", "javascript:alert(1)": "/",
	} {
		if got := onlyPath(to); got != want {
			t.Errorf("%q: %q, want %q", to, got, want)
		}
	}
}

// TestSocketUID reads the kernel's table of sockets.
func TestSocketUID(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10 0
   1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0000000000000000 20 4 30 10 -1
   2: 00000000000000000000000001000000:D432 00000000000000000000000001000000:1F90 01 00000000:00000000 00:00000000 00000000  1002 0 3`
	for at, want := range map[string]int{"127.0.0.1:54321": 1001, "[::1]:54322": 1002, "127.0.0.1:8080": 0, "127.0.0.1:1": -1} {
		uid, ok := socketUID(strings.NewReader(table), netip.MustParseAddrPort(at))
		if !ok {
			uid = -1
		}
		if uid != want {
			t.Errorf("%s: %d, want %d", at, uid, want)
		}
	}
	if !othersProcessOf(os.Getuid()+1) || othersProcessOf(os.Getuid()) || othersProcessOf(0) {
		t.Error("who may come in")
	}
}

// ask puts a question before the person and returns its approval.
func (p *place) ask(from, subject string) string {
	p.t.Helper()
	p.Mail(from, mail.NameHuman, mail.Query, subject, "Shall I?")
	open, err := approval.Open(p.Office().FS)
	if err != nil || len(open) == 0 {
		p.t.Fatal(open, err)
	}
	for _, a := range open {
		if a.Subject == subject {
			return a.ID
		}
	}
	p.t.Fatal("it was not asked")
	return ""
}
