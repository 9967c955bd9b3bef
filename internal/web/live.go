package web

import "net/http"

// live tells a browser what happens in the office.
func (s *Site) live(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }
