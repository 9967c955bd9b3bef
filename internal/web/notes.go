package web

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// notes keeps what a form did until the page after it shows it. A session's
// last few are kept; a server that starts anew has forgotten them.
type notes struct {
	mu   sync.Mutex
	said []note
}

type note struct {
	session, key string
	lines        []string
}

const maxNotes = 32

func (n *notes) put(session string, lines []string) (key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key = rand.Text()[:8]
	n.said = append(n.said, note{session, key, lines})
	if len(n.said) > maxNotes {
		n.said = n.said[1:]
	}
	return key
}

// take returns what was said under a key; it stays, for a page that is loaded
// again.
func (n *notes) take(session, key string) []string {
	if key == "" {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.said {
		if x.session == session && x.key == key {
			return x.lines
		}
	}
	return nil
}

// goOn redirects after a form, to a page that says what became of it.
func (s *Site) goOn(w http.ResponseWriter, r *http.Request, to string, lines ...string) {
	if len(lines) > 0 {
		sep := "?"
		if strings.Contains(to, "?") {
			sep = "&"
		}
		to += sep + "said=" + url.QueryEscape(s.said.put(s.session(r), lines))
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}
