package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/search"
)

// threadsPage is how many conversations a page lists.
const threadsPage = 30

// threadsView is the page Threads.
type threadsView struct {
	Form    threadsForm
	Shows   []choice
	With    []choice
	Query   string // the link to the list alone
	Rows    []threadRow
	Older   string   // the link to what is older, "" if there is nothing
	Newest  bool     // the list begins with the newest
	Trouble *trouble // the words make no sense
	Index   indexed
	Build   bool // the index is being built: the rows are of the journal's end
	Broken  bool // there is no index: so are they
}

// threadsForm is what the list is narrowed to.
type threadsForm struct {
	Show   string // "", "waits", "owed", "unread", "bounced"
	With   string // an agent
	Words  string // the syntax of post search
	Before mail.ID
}

// choice is one of several, as a link or an option.
type choice struct {
	Name, Label, Href string
	On                bool
}

func threadsFormOf(q url.Values) threadsForm {
	f := threadsForm{Show: q.Get("show"), With: q.Get("with"), Words: strings.TrimSpace(q.Get("q")), Before: mail.ID(q.Get("before"))}
	if !f.Before.Valid() {
		f.Before = ""
	}
	if !slices.ContainsFunc(showings(), func(c choice) bool { return c.Name == f.Show }) {
		f.Show = ""
	}
	return f
}

// showings are the kinds of conversations that can be shown alone; Href is the
// search for them.
func showings() []choice {
	return []choice{{Name: "", Label: "All"}, {Name: "waits", Label: "Waiting for a person", Href: "state:asked"}, {Name: "owed", Label: "Answer owed", Href: "is:owed"},
		{Name: "unread", Label: "Unread", Href: "state:unread"}, {Name: "bounced", Label: "Bounced", Href: "state:bounced"}}
}

// search is what the form looks for.
func (f threadsForm) search() string {
	for _, c := range showings() {
		if c.Name == f.Show {
			return strings.TrimSpace(c.Href + " " + f.Words)
		}
	}
	return f.Words
}

// href is the page with this form.
func (f threadsForm) href() string {
	if q := f.values().Encode(); q != "" {
		return "/threads?" + q
	}
	return "/threads"
}

func (f threadsForm) values() url.Values {
	v := url.Values{}
	for _, p := range [][2]string{{"show", f.Show}, {"with", f.With}, {"q", f.Words}, {"before", string(f.Before)}} {
		if p[1] != "" {
			v.Set(p[0], p[1])
		}
	}
	return v
}

// choices are the links and options around the list.
func (v *threadsView) choices(names []string) {
	for _, c := range showings() {
		f := v.Form
		f.Show, f.Before = c.Name, ""
		v.Shows = append(v.Shows, choice{Name: c.Name, Label: c.Label, Href: f.href(), On: c.Name == v.Form.Show})
	}
	for _, n := range names {
		v.With = append(v.With, choice{Name: n, Label: n, On: n == v.Form.With})
	}
	v.Newest = v.Form.Before == ""
	q := v.Form.values()
	q.Set("part", "list")
	v.Query = "/threads?" + q.Encode()
}

// threads shows the page Threads.
func (s *Site) threads(w http.ResponseWriter, r *http.Request) {
	d, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v := &threadsView{Form: threadsFormOf(r.URL.Query())}
	if err := s.listThreads(r.Context(), d, v); err != nil {
		s.fail(w, r, err)
		return
	}
	v.choices(agentNames(d))
	st := 0
	if v.Trouble != nil && !v.Broken {
		st = http.StatusUnprocessableEntity
	}
	s.render(w, r, "threads", view{Title: "Threads", Nav: "threads", Status: st, Data: v})
}

// agentNames are those of the agents that are not archived, sorted.
func agentNames(d *cli.Desk) (names []string) {
	for _, a := range d.Registry.Active() {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// listThreads fills the list. What is wrong with the words stays on the page.
func (s *Site) listThreads(ctx context.Context, d *cli.Desk, v *threadsView) error {
	q, err := search.Parse(v.Form.search(), s.Env.Now())
	r := search.Request{Query: q, Limit: threadsPage, Above: v.Form.Before}
	if err == nil && v.Form.With != "" {
		r.Who, err = readerOf(d, v.Form.With)
	}
	var list []search.Thread
	var more bool
	if err == nil {
		v.Index, err = s.ask(ctx, d, func(x *search.Index) error {
			var err error
			list, more, err = x.Threads(ctx, r)
			return err
		})
	}
	switch {
	case errors.Is(err, errNotWhole):
		v.Build = true
		list, err = recentThreads(d)
	case errors.As(err, new(indexBroken)):
		t := troubleOf(err.(indexBroken).error)
		v.Trouble, v.Broken = &t, true
		list, err = recentThreads(d)
	case isOurs(err, mail.KindInvalid, mail.KindUnknown, mail.KindAmbiguous, mail.KindNotFound):
		t := troubleOf(err)
		v.Trouble = &t
		return nil
	}
	if err != nil {
		return err
	}
	notes, err := s.notesOf(d)
	if err != nil {
		return err
	}
	for _, t := range list {
		v.Rows = append(v.Rows, notes.row(d, t))
	}
	if more {
		f := v.Form
		f.Before = list[len(list)-1].Fits
		v.Older = f.href()
	}
	return nil
}

// readerOf is an agent as who reads: what it sent or received.
func readerOf(d *cli.Desk, name string) (search.Reader, error) {
	if e, ok := d.Registry.Entry(name); ok {
		return search.Reader{AID: e.AID, Name: e.Name}, nil
	}
	_, err := d.Agent(name)
	return search.Reader{}, err
}

// isOurs reports whether err is of one of the kinds.
func isOurs(err error, kinds ...mail.Kind) bool {
	return err != nil && slices.Contains(kinds, mail.KindOf(err))
}

// Narrowed reports whether the list leaves something out.
func (v *threadsView) Narrowed() bool {
	return v.Form.Show != "" || v.Form.With != "" || v.Form.Words != "" || v.Form.Before != ""
}

// NewestHref is the beginning of the list.
func (v *threadsView) NewestHref() string {
	f := v.Form
	f.Before = ""
	return f.href()
}
