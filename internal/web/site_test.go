package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/officetest"
)

// place is an office with its page, and a browser that was let in.
type place struct {
	*officetest.RealDesk
	t       *testing.T
	site    *Site
	handler http.Handler
	browser
}

// browser is one session.
type browser struct {
	p       *place
	session string
}

const host = "127.0.0.1:7"

func newPlace(t *testing.T, agents ...string) *place {
	t.Helper()
	p := &place{RealDesk: officetest.NewRealDesk(t, agents...), t: t}
	e := &cli.Env{Stdout: io.Discard, Stderr: io.Discard, Dir: p.Root, System: p.Sys, Patience: 10 * time.Second,
		Getenv: func(key string) string {
			return map[string]string{"HOME": filepath.Join(p.Root, "home"), "POSTROOM_OFFICE": p.Dir}[key]
		},
		Sleep:      func(_ context.Context, d time.Duration) error { time.Sleep(d); return nil },
		Executable: func() (string, error) { return filepath.Join(p.Root, "post"), nil }}
	p.site = New(Options{Env: e, Dir: p.Dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	p.site.behind.finder.wait = time.Minute // a busy machine is no reason to show less
	p.handler = p.site.Handler()
	p.browser = p.enter()
	return p
}

// enter opens another browser.
func (p *place) enter() browser {
	p.t.Helper()
	once, err := Link(p.site.sessions.dir, "", p.Clock.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	b := browser{p: p}
	res := b.do(httptest.NewRequest("GET", "http://"+host+"/enter?once="+once, nil))
	if res.Code != http.StatusSeeOther || len(res.Result().Cookies()) != 1 {
		p.t.Fatalf("enter: %d %s", res.Code, res.Body)
	}
	b.session = res.Result().Cookies()[0].Value
	return b
}

func (b browser) do(r *http.Request) *httptest.ResponseRecorder {
	r.Host = host
	if b.session != "" {
		r.AddCookie(&http.Cookie{Name: b.p.site.cookieName(), Value: b.session})
	}
	w := httptest.NewRecorder()
	b.p.handler.ServeHTTP(w, r)
	return w
}

// get asks for a page.
func (b browser) get(path string) *httptest.ResponseRecorder {
	return b.do(httptest.NewRequest("GET", "http://"+host+path, nil))
}

// ok asks for a page that must be there, and returns it.
func (b browser) ok(path string) string {
	b.p.t.Helper()
	w := b.get(path)
	if w.Code != http.StatusOK {
		b.p.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// post sends a form as the page's own script-less form does: "name", "value", …
func (b browser) post(path string, fields ...string) *httptest.ResponseRecorder {
	form := url.Values{"csrf": {formToken(b.session)}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := httptest.NewRequest("POST", "http://"+host+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://"+host)
	return b.do(r)
}

// TestPages: every page is there, also in an office where nothing happened.
func TestPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "coder")
	for _, path := range []string{"/", "/inbox", "/threads", "/agents", "/agents/coder", "/search", "/health", "/compose", "/debts"} {
		page := p.ok(path)
		if !strings.Contains(page, "<!doctype html>") || !strings.HasSuffix(strings.TrimSpace(page), "</html>") || strings.Contains(page, "ZgotmplZ") {
			t.Errorf("%s: %s", path, page)
		}
	}
	if w := p.get("/nowhere"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "/nowhere") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := p.get("/inbox?part=nothing"); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestNoInlineCode: the policy allows no script or style in a page, so a page
// that has some is broken.
func TestNoInlineCode(t *testing.T) {
	t.Parallel()
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := templateFiles.ReadFile("templates/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, bad := range []string{" style=", " onclick=", " onload=", " onsubmit=", "<style", "javascript:", "http://", "https://"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %s", f.Name(), bad)
			}
		}
		if strings.Contains(strings.ReplaceAll(text, `<script src="/static/`, ""), "<script") {
			t.Errorf("%s holds a script of its own", f.Name())
		}
	}
}
