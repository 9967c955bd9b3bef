package web

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/standing"
)

// backstage is what goes on behind the pages, for all browsers together. It is
// made when a page first needs it.
type backstage struct {
	memo    standing.Memo
	roll    roll
	checkup checkup
	finder  finder

	mu     sync.Mutex
	live   *Live
	closed bool
}

// hub is the one hub of the office.
func (s *Site) hub(o *office.Office) *Live {
	b := &s.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live == nil {
		b.live = NewLive(o, s.Log)
		b.live.closed = b.closed
	}
	return b.live
}

// Close ends what runs behind the pages. What was asked for is still answered.
func (s *Site) Close() {
	b := &s.behind
	b.mu.Lock()
	b.closed = true
	live := b.live
	b.mu.Unlock()
	b.checkup.end()
	if live != nil {
		live.Close()
	}
	b.finder.close()
}

// live tells a browser what happens in the office, as long as its session lasts.
func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	session := s.session(r)
	s.hub(o).Stream(w, r, func() bool {
		_, ok := s.sessions.look("session", session, r.Host)
		return ok
	})
}

type afterKey struct{}

// noted notes, before a page looks at the office, what it may know of when it is
// made, as /live takes it: nothing that happens meanwhile is missed. If nobody
// follows the office it is "", and the page's parts are fetched anew when it
// begins to listen.
func (s *Site) noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), afterKey{}, s.after())))
	})
}

func (s *Site) after() string {
	b := &s.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live == nil {
		return ""
	}
	n, beside, ok := b.live.Last()
	if !ok {
		return ""
	}
	return strconv.FormatUint(n, 10) + "&beside=" + strconv.FormatUint(beside, 10)
}

// knows is what was noted at a request.
func knows(r *http.Request) string {
	after, _ := r.Context().Value(afterKey{}).(string)
	return after
}
