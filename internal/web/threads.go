package web

import "net/http"

// threads shows the page Threads.
func (s *Site) threads(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "threads", view{Title: "Threads", Nav: "threads"})
}

// thread shows one conversation.
func (s *Site) thread(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "thread", view{Title: r.PathValue("conversation"), Nav: "threads"})
}
