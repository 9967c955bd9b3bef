package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// maxForm is how large a form may be: text of a message's size, each character
// written as three.
const maxForm = 3*mail.MaxSize + 64<<10

// policyHeader lets a page load what this server gives and nothing else.
const policyHeader = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded is what every request passes first: the headers that every answer
// has, and whether a browser that shows our own page can have sent it.
func (s *Site) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyHeader)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // "no-referrer" would make our forms' Origin null
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if s.TLS {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if !s.ownHost(r.Host) {
			s.refuse(w, r, "this name is not one of this office's page", `open the page with "post ui"`)
			return
		}
		if why := s.foreign(r); why != "" {
			s.refuse(w, r, why, "use the page's own buttons")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers what no page of ours sends; it shows nothing of the office.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, why, hint string) {
	nobody := r.WithContext(context.WithValue(r.Context(), sessionKey{}, ""))
	s.fail(w, nobody, &mail.Error{Op: "open page", Kind: mail.KindPerson, Err: errors.New(why), Hint: hint})
}

// ownHost reports whether a browser may ask by this name: one that can only
// mean this machine, or one that the person gave. So a name of somebody else's
// that was made to point here gets nothing.
func (s *Site) ownHost(host string) bool {
	name := hostName(host)
	if s.TLS {
		return slices.Contains(s.Hosts, name)
	}
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && ip.IsLoopback() || slices.Contains(s.Hosts, name)
}

func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// foreign says why a request cannot come from our own page, or "".
func (s *Site) foreign(r *http.Request) string {
	origins := r.Header.Values("Origin")
	for _, o := range origins {
		if u, err := url.Parse(o); err != nil || u.Host == "" || u.Host != r.Host || u.Scheme != s.scheme() {
			return "another page asked (" + mail.Neutralise(o, false) + ")"
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		if len(origins) == 0 {
			return "the browser does not say which page asked"
		}
		if site != "" && site != "same-origin" {
			return "another page asked"
		}
	case site == "cross-site" || site == "same-site":
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return "another page asked"
		}
	}
	return ""
}

func (s *Site) scheme() string {
	if s.TLS {
		return "https"
	}
	return "http"
}

// cookieName is of this office alone: browsers send cookies of a host to all of
// its ports.
func (s *Site) cookieName() string {
	name := "postroom-" + digest(s.Dir)[:8]
	if s.TLS {
		return "__Host-" + name
	}
	return name
}

func (s *Site) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: s.TLS, SameSite: http.SameSiteLaxMode}
}

// enter lets in who brings a one-time link.
func (s *Site) enter(w http.ResponseWriter, r *http.Request) {
	if p := r.Header.Get("Sec-Purpose"); strings.Contains(p, "prefetch") {
		w.WriteHeader(http.StatusNoContent) // looking ahead does not use a link
		return
	}
	if !s.TLS && othersProcess(r.RemoteAddr) {
		s.refuse(w, r, "another user of this machine asked", "open an office of your own") // the link may be seen where processes are listed
		return
	}
	session, ok, err := s.sessions.redeem(r.URL.Query().Get("once"), r.Host)
	switch {
	case err != nil:
		s.fail(w, r, err)
	case !ok && s.session(r) != "":
		http.Redirect(w, r, "/", http.StatusSeeOther) // opened twice by the one who came in with it
	case !ok:
		s.stranger(w, r, "This link was used already, or is older than five minutes. If it was not you who used it, run post ui --revoke.")
	default:
		http.SetCookie(w, s.cookie(session, int(sessionLife.Seconds())))
		http.Redirect(w, r, onlyPath(r.URL.Query().Get("to")), http.StatusSeeOther)
	}
}

// othersProcess reports whether a program of another user, not root, asks.
func othersProcess(remote string) bool {
	uid, ok := peerUID(remote)
	return ok && othersProcessOf(uid)
}

func othersProcessOf(uid int) bool { return uid != 0 && uid != os.Getuid() }

// onlyPath keeps a redirect within the page.
func onlyPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}

type sessionKey struct{}

// session is the session of a request, "" if it has none that is good.
func (s *Site) session(r *http.Request) string {
	if v, ok := r.Context().Value(sessionKey{}).(string); ok {
		return v
	}
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	if _, ok := s.sessions.look("session", c.Value, r.Host); !ok {
		return ""
	}
	return c.Value
}

// entered lets through who has a session and, for what changes something, the
// token of our own form.
func (s *Site) entered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := s.session(r)
		if session == "" {
			s.stranger(w, r, "")
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), sessionKey{}, session))
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := r.ParseForm(); err != nil {
				s.fail(w, r, badForm(err))
				return
			}
			if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("csrf")), []byte(formToken(session))) != 1 {
				s.refuse(w, r, "the form is not one that this page gave you, or an old one", "go back, load the page again, and send it once more")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func badForm(err error) error {
	e := &mail.Error{Op: "read form", Kind: mail.KindInvalid, Err: err, Hint: "load the page again"}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		e.Kind, e.Err, e.Hint = mail.KindTooLarge, errors.New("the text is over 1 MiB"), "put it in a file and send its path"
	}
	return e
}

// leave ends the session of this browser.
func (s *Site) leave(w http.ResponseWriter, r *http.Request) {
	s.sessions.end(s.session(r))
	http.SetCookie(w, s.cookie("", -1))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
