package web

import "net/http"

// search shows the page Search.
func (s *Site) search(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "search", view{Title: "Search", Nav: "search"})
}
