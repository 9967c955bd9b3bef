package web

import "net/http"

// compose shows the page Compose.
func (s *Site) compose(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "compose", view{Title: "Compose", Nav: "compose"})
}

// composed previews what was written, or sends it.
func (s *Site) composed(w http.ResponseWriter, r *http.Request) { s.goOn(w, r, "/compose") }
