package web

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// linkMax is how long a link may be, in bytes.
const linkMax = 2000

// link is where a link goes.
type link struct {
	href string
	host string // what a browser would ask; of mail, the whole address
}

// Made at every start of postd: without counted repeats, which are large.
var (
	hostForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	emailForm = regexp.MustCompile(`^[A-Za-z0-9.+_-]+@[A-Za-z0-9.-]+$`)
	// nameForm is what reads as a site: README.md and main.go do not.
	nameForm = regexp.MustCompile(`(?i)(?:://|\bwww\.)[^\s/?#<>()"]+|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|ai|co|cloud|gov|edu)\b`)
	tagForm  = regexp.MustCompile(`<[^>]*>`)
)

// safeLink reads a link's destination. It is refused unless it is http, https or
// mailto, says its host in plain ASCII, and hides neither a password nor another
// spelling in it: browsers mend too much for anything else to be told by its looks.
func safeLink(dest string) (link, bool) {
	if len(dest) > linkMax || strings.ContainsFunc(dest, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '\\' }) {
		return link{}, false
	}
	u, err := url.Parse(dest)
	if err != nil {
		return link{}, false
	}
	switch u.Scheme {
	case "mailto":
		return link{"mailto:" + u.Opaque, u.Opaque}, emailOK(u.Opaque) && u.RawQuery == "" && u.Fragment == ""
	case "http", "https":
		u.Host = strings.ToLower(u.Host)
		ok := u.Opaque == "" && u.User == nil && hostOK(u.Hostname()) && strings.Trim(u.Port(), "0123456789") == ""
		return link{u.String(), u.Host}, ok
	}
	return link{}, false
}

func hostOK(host string) bool {
	if strings.Contains(host, ":") { // IPv6
		a, err := netip.ParseAddr(host)
		return err == nil && a.Zone() == ""
	}
	return len(host) <= 253 && hostForm.MatchString(host) && !strings.Contains(host, "..")
}

func emailOK(address string) bool {
	return strings.IndexByte(address, '@') <= 64 && len(address) <= 64+1+251 && emailForm.MatchString(address)
}

// lies reports whether a link's text, as HTML, names another site than it goes to.
func (l link) lies(text string) bool {
	host := l.host[strings.LastIndexByte(l.host, '@')+1:]
	host, _, _ = strings.Cut(host, ":")
	for _, name := range nameForm.FindAllString(tagForm.ReplaceAllString(text, ""), -1) {
		name = strings.ToLower(strings.TrimPrefix(name, "://"))
		name, _, _ = strings.Cut(name, ":")
		if host != name && !strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}
