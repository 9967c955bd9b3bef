package web

import "net/http"

// floor shows the page Floor.
func (s *Site) floor(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "floor", view{Title: "Floor", Nav: "floor"})
}
