package web

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
)

//go:embed templates/*.html
var templateFiles embed.FS

// view is what a page hands to render.
type view struct {
	Title  string // of the tab and the heading
	Nav    string // the entry of the navigation that it belongs to: "floor", "inbox" …
	Status int    // 0: 200
	Data   any    // .Data in the page's template
}

// shell is what a template gets: the page's view, and what all pages show.
type shell struct {
	view
	Office  string // its name, to show
	Dir     string
	Theme   string // "light", "dark", or "" as the system says
	CSRF    string // for each form: {{template "csrf" .}}
	Here    string // path and query of this page
	Waiting int    // approvals that wait for a person
	Said    []string
	In      bool   // there is a session
	After   string // what the page knows of, for /live?after=; "" if nobody follows the office
}

// parse reads all templates.
func (s *Site) parse() (*template.Template, error) {
	return template.New("").Funcs(s.funcs()).ParseFS(templateFiles, "templates/*.html")
}

// render answers with the block NAME of templates/NAME.html between the layout's
// head and foot, or, if the request has ?part=PART, with the block NAME-PART alone.
func (s *Site) render(w http.ResponseWriter, r *http.Request, name string, v view) {
	all, err := s.pages()
	if err != nil {
		s.broken(w, name, err)
		return
	}
	blocks := []string{"head", name, "foot"}
	if part := r.URL.Query().Get("part"); part != "" && r.Method == http.MethodGet {
		blocks = []string{name + "-" + part}
		if all.Lookup(blocks[0]) == nil {
			s.fail(w, r, &mail.Error{Op: "open page", Kind: mail.KindNotFound, Addr: mail.Neutralise(blocks[0], false), Hint: "load the page again"})
			return
		}
	}
	var out bytes.Buffer
	sh := s.shell(r, v)
	for _, block := range blocks {
		if err := all.ExecuteTemplate(&out, block, sh); err != nil {
			s.broken(w, name, err)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.Status != 0 {
		w.WriteHeader(v.Status)
	}
	w.Write(out.Bytes())
}

// broken is a fault of ours.
func (s *Site) broken(w http.ResponseWriter, page string, err error) {
	s.Log.Error("a page cannot be made", "page", page, "error", err.Error())
	http.Error(w, "This page is broken: a fault of Postroom. The log of postd serve says which.", http.StatusInternalServerError)
}

func (s *Site) shell(r *http.Request, v view) *shell {
	sh := &shell{view: v, Here: r.URL.RequestURI(), Theme: themeOf(r)}
	session := s.session(r)
	if session == "" {
		return sh
	}
	sh.In, sh.CSRF, sh.Office, sh.Dir = true, formToken(session), officeName(s.Dir), s.Dir
	sh.After = knows(r)
	sh.Said = s.said.take(session, r.URL.Query().Get("said"))
	if o, err := s.open(); err == nil {
		if open, err := approval.Open(o.FS); err == nil {
			sh.Waiting = len(open)
		}
	}
	return sh
}

// status is the HTTP status of a kind of error (design §15): the one table.
func status(kind mail.Kind) int {
	switch kind {
	case mail.KindUsage, mail.KindInvalid, mail.KindAmbiguous, mail.KindRule, mail.KindTerminal, mail.KindParent, mail.KindUnknown:
		return http.StatusUnprocessableEntity
	case mail.KindNotFound:
		return http.StatusNotFound
	case mail.KindIdentity, mail.KindPerson, mail.KindReadOnly:
		return http.StatusForbidden
	case mail.KindConflict, mail.KindForeign:
		return http.StatusConflict
	case mail.KindTooLarge:
		return http.StatusRequestEntityTooLarge
	case mail.KindBusy, mail.KindTimeout, mail.KindDelivery, mail.KindNotify, mail.KindMissingPostd:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// trouble is an error as a page shows it.
type trouble struct {
	What, Hint, Kind string
}

func troubleOf(err error) trouble {
	t := trouble{Kind: string(mail.KindOf(err)), What: err.Error()}
	var e *mail.Error
	if errors.As(err, &e) && err == error(e) {
		bare := *e
		bare.Hint = ""
		t.What, t.Hint = bare.Error(), e.Hint
	}
	t.What, t.Hint = mail.Neutralise(t.What, false), mail.Neutralise(t.Hint, false)
	return t
}

// fail answers with an error: what is wrong and what to do next.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	t := troubleOf(err)
	st := status(mail.KindOf(err))
	if st >= http.StatusInternalServerError {
		s.Log.Warn("a page could not be shown", "path", r.URL.Path, "kind", t.Kind, "error", t.What)
	}
	q := *r.URL
	q.RawQuery = "" // an error is a whole page
	plain := r.Clone(r.Context())
	plain.URL = &q
	s.render(w, plain, "trouble", view{Title: titleOf(st), Status: st, Data: t})
}

func titleOf(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not here"
	case http.StatusForbidden:
		return "Refused"
	case http.StatusConflict:
		return "Too late"
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		return "Something is wrong"
	}
	return "That does not work"
}

// stranger tells who has no session how to get one.
func (s *Site) stranger(w http.ResponseWriter, r *http.Request, why string) {
	q := *r.URL
	q.RawQuery = ""
	plain := r.Clone(r.Context())
	plain.URL = &q
	s.render(w, plain, "stranger", view{Title: "Postroom", Status: http.StatusUnauthorized, Data: why})
}

//go:embed static
var staticFiles embed.FS

// static serves the page's own script, style and icons.
func (s *Site) static(w http.ResponseWriter, r *http.Request) {
	s.file(w, r, r.PathValue("file"))
}

func (s *Site) icon(w http.ResponseWriter, r *http.Request) { s.file(w, r, "favicon.svg") }

func (s *Site) file(w http.ResponseWriter, r *http.Request, name string) {
	data, err := staticFiles.ReadFile("static/" + path.Base(name))
	if err != nil {
		s.nothing(w, r)
		return
	}
	w.Header().Set("Content-Type", map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml"}[path.Ext(name)])
	tag := `"` + digest(string(data))[:16] + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache") // kept, and asked for again
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write(data)
}

const themeCookie = "postroom-theme"

func themeOf(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// theme keeps which colours this browser wants.
func (s *Site) theme(w http.ResponseWriter, r *http.Request) {
	c := &http.Cookie{Name: themeCookie, Value: r.PostForm.Get("theme"), Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, Secure: s.TLS, SameSite: http.SameSiteLaxMode}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(w, c)
	http.Redirect(w, r, onlyPath(r.PostForm.Get("here")), http.StatusSeeOther)
}
