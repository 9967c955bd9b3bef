package web

import "net/http"

// debts shows the page Debts.
func (s *Site) debts(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, "debts", view{Title: "Debts", Nav: "debts"})
}

// remind asks a debtor again.
func (s *Site) remind(w http.ResponseWriter, r *http.Request) { s.goOn(w, r, "/debts") }

// waive forgives a debt.
func (s *Site) waive(w http.ResponseWriter, r *http.Request) { s.goOn(w, r, "/debts") }
