package web

import "net/http"

// inbox lists what waits for a person.
func (s *Site) inbox(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "inbox", view{Title: "Inbox", Nav: "inbox"})
}

// approval shows one of them.
func (s *Site) approval(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "approval", view{Title: r.PathValue("id"), Nav: "inbox"})
}

// decide takes a person's decision.
func (s *Site) decide(w http.ResponseWriter, r *http.Request) { s.goOn(w, r, "/inbox") }
