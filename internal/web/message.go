package web

import "net/http"

// message shows the life of one message.
func (s *Site) message(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "message", view{Title: r.PathValue("id"), Nav: "threads"})
}
