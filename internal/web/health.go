package web

import "net/http"

// health shows the page Health.
func (s *Site) health(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "health", view{Title: "Health", Nav: "health"})
}
