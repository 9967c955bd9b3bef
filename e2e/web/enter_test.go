//go:build e2e

package web

import (
	"strings"
	"testing"
)

// TestEnter: the link works once; who has none sees nothing of the office.
func TestEnter(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 0)
	p.serve()
	stranger := p.newTab()
	for _, path := range []string{"/", "/inbox", "/threads", "/agents", "/search?q=a", "/health", "/compose", "/debts"} {
		stranger.open(path)
		stranger.shows("post ui")
		if text := stranger.text(); strings.Contains(text, "backend") || strings.Contains(text, "Floor") {
			t.Errorf("%s tells a stranger:\n%s", path, text)
		}
		if got := stranger.status(path); got != 401 {
			t.Errorf("%s answers a stranger with %d", path, got)
		}
	}
	link := p.link()
	b := p.newTab()
	b.use(link)
	b.shows("Floor")
	if got := b.path(); got != "/" {
		t.Errorf("the link leads to %s", got)
	}
	if strings.Contains(strings.Join(eval[[]string](b, `[document.cookie, location.href]`), " "), "once") {
		t.Error("the secret of the link is still to be seen")
	}
	stranger.visit(link)
	stranger.shows("was used already")
	stranger.open("/agents")
	stranger.shows("post ui")
	b.open("/agents")
	b.shows("backend")
	b.clean()
}
