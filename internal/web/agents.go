package web

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/standing"
)

// agentsPage is how many agents the list shows at once.
const agentsPage = 100

// agentsView is the page Agents.
type agentsView struct {
	Rows     []agentRow
	Query    template.URL // what keeps the list as it is: "all=1&after=…"
	All      bool         // the archived too
	Archived int          // how many are archived
	Next     string       // the last name of this page, "" if it is the last page
	First    bool
}

// agentRow is one agent in the list.
type agentRow struct {
	standing.Agent
	Presence presenceView
	Woken    string
	WokenBad bool
	Place    string // the workspace, short
	Oldest   time.Time
}

// agents shows the page Agents.
func (s *Site) agents(w http.ResponseWriter, r *http.Request) {
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list, err := s.standing(r.Context(), o)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	archived, err := s.archived(o, r, q.Get("all") != "")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	home := s.Env.Getenv("HOME")
	v := agentsOf(append(slices.Clone(list), archived.list...), q.Get("after"), home)
	v.All, v.Archived = q.Get("all") != "", archived.n
	q.Del("part")
	q.Del("said")
	v.Query = template.URL(q.Encode())
	s.render(w, r, "agents", view{Title: "Agents", Nav: "agents", Data: v})
}

// bygone are the archived agents: how many, and themselves if they are wanted.
type bygone struct {
	n    int
	list []standing.Agent
}

func (s *Site) archived(o *office.Office, r *http.Request, wanted bool) (b bygone, err error) {
	book, err := o.Book()
	if err != nil {
		return b, err
	}
	x, err := s.Env.LookerWith(o, &s.behind.memo)
	if err != nil {
		return b, err
	}
	for e := range book.All() {
		if !e.Archived {
			continue
		}
		if b.n++; wanted {
			b.list = append(b.list, x.Look(r.Context(), e))
		}
	}
	return b, nil
}

// agentsOf is one page of the list, by name, behind the name after.
func agentsOf(list []standing.Agent, after, home string) agentsView {
	slices.SortFunc(list, func(a, b standing.Agent) int { return strings.Compare(a.Name, b.Name) })
	v := agentsView{First: after == ""}
	for _, a := range list {
		if a.Name <= after {
			continue
		}
		if len(v.Rows) == agentsPage {
			v.Next = v.Rows[agentsPage-1].Name
			break
		}
		v.Rows = append(v.Rows, rowOf(a, home))
	}
	return v
}

func rowOf(a standing.Agent, home string) agentRow {
	row := agentRow{Agent: a, Presence: presenceOf(a), Woken: a.WokenBy(true), Place: placeOf(a.Workspace, home)}
	if a.Oldest != nil {
		row.Oldest = *a.Oldest
	}
	row.WokenBad = a.Wake != nil && (a.Wake.State == standing.WakeFailing || a.Wake.State == standing.WakeNoSession && a.Unread > 0)
	return row
}

// placeOf is the end of a path, by which people know a directory.
func placeOf(dir, home string) string {
	if rest, ok := strings.CutPrefix(dir, home+"/"); ok && home != "" {
		dir = "~/" + rest
	}
	parts := strings.Split(strings.TrimSuffix(dir, "/"), "/")
	if len(parts) <= 3 {
		return dir
	}
	return "…/" + strings.Join(parts[len(parts)-2:], "/")
}

// entry finds the agent that a path names, by name or alias.
func entry(book *registry.Registry, name string) (registry.Entry, error) {
	e, ok, err := office.Entry(book, name)
	if err != nil {
		return e, err
	}
	if !ok {
		miss := &mail.Error{Op: "show agent", Kind: mail.KindNotFound, Addr: mail.Neutralise(name, false), Hint: "look at the list of agents"}
		if near := book.Suggest(name); len(near) > 0 {
			miss.Hint = "did you mean " + near[0] + "? Else look at the list of agents"
		}
		return e, miss
	}
	return e, nil
}
