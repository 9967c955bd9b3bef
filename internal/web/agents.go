package web

import "net/http"

// agents shows the page Agents.
func (s *Site) agents(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "agents", view{Title: "Agents", Nav: "agents"})
}

// agent shows one agent.
func (s *Site) agent(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "agent", view{Title: r.PathValue("name"), Nav: "agents"})
}
