package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/search"
)

const (
	// hitsPage is how many hits a page shows.
	hitsPage = 20
	// facetHits is how many of the newest hits are counted for what the search can
	// be narrowed to.
	facetHits = 200
)

// searchView is the page Search.
type searchView struct {
	Q       string
	Rank    bool
	Asked   bool // something is looked for
	Hits    []hitRow
	Facets  []facetGroup
	Chips   []chip
	Counted string // what the numbers of the facets are of
	Older   string
	Order   choice // the other order
	Trouble *trouble
	Doubt   []mail.ID
	Blind   []string
	Index   indexed
	Build   bool
	Query   string
	Took    string
}

// hitRow is one message that was found.
type hitRow struct {
	ID           mail.ID
	From, To     string
	Act          mail.Act
	Conversation string
	At           time.Time
	Subject      []search.Piece
	Snippet      []search.Piece
	Fate         string
}

// search shows the page Search.
func (s *Site) search(w http.ResponseWriter, r *http.Request) {
	d, err := s.desk()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q := r.URL.Query()
	v := &searchView{Q: strings.TrimSpace(q.Get("q")), Rank: q.Has("best")}
	v.Asked = v.Q != ""
	before := mail.ID(q.Get("before"))
	if !before.Valid() || v.Rank {
		before = ""
	}
	if v.Asked {
		err = s.look(r.Context(), d, v, before)
	} else {
		v.Index, err = s.ask(r.Context(), d, func(*search.Index) error { return nil })
	}
	st := 0
	switch {
	case errors.Is(err, errNotWhole):
		v.Build = true
	case isOurs(err, mail.KindInvalid, mail.KindUnknown, mail.KindAmbiguous, mail.KindNotFound):
		t := troubleOf(err)
		v.Trouble, st = &t, http.StatusUnprocessableEntity
	case errors.As(err, new(indexBroken)):
		t := troubleOf(err.(indexBroken).error)
		v.Trouble, st = &t, http.StatusServiceUnavailable
	case err != nil:
		s.fail(w, r, err)
		return
	}
	q.Del("said")
	q.Set("part", "hits")
	v.Query = "/search?" + q.Encode()
	title := "Search"
	if v.Asked {
		title = "Search: " + v.Q
	}
	s.render(w, r, "search", view{Title: title, Nav: "search", Status: st, Data: v})
}

// look searches and fills the page.
func (s *Site) look(ctx context.Context, d *cli.Desk, v *searchView, before mail.ID) error {
	q, err := search.Parse(v.Q, s.Env.Now())
	if err != nil {
		return err
	}
	r := search.Request{Query: q, Limit: hitsPage, Rank: v.Rank, Above: before}
	if before == "" && !v.Rank {
		r.Limit = facetHits
	}
	begin := time.Now()
	var found search.Found
	v.Index, err = s.ask(ctx, d, func(x *search.Index) error {
		var err error
		found, err = x.Find(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	v.Took = time.Since(begin).Round(time.Millisecond).String()
	v.fill(found, s.Env.Now())
	return nil
}

// fill shows the first hits, and what all of them can be narrowed to.
func (v *searchView) fill(found search.Found, now time.Time) {
	v.Blind, v.Doubt = found.Blind, found.Doubtful
	v.Chips = chipsOf(v.Q)
	v.Facets = facetsOf(v.Q, found.Hits, now)
	v.Counted = "of all " + plural(len(found.Hits), "hit", "hits")
	if found.More {
		v.Counted = "of the newest " + plural(len(found.Hits), "hit", "hits")
	}
	hits, more := found.Hits, found.More
	if len(hits) > hitsPage {
		hits, more = hits[:hitsPage], true
	}
	for _, h := range hits {
		m := h.Message
		v.Hits = append(v.Hits, hitRow{m.ID, m.From, m.To, m.Act, m.Conversation, m.CreatedAt, h.Subject, h.Snippet, fateOf(h.States)})
	}
	if more && !v.Rank {
		last := found.Last
		if len(hits) > 0 && len(hits) < len(found.Hits) {
			last = hits[len(hits)-1].Message.ID
		}
		v.Older = searchHref(v.Q, url.Values{"before": {string(last)}})
	}
	v.Order = choice{Label: "Best first", Href: searchHref(v.Q, url.Values{"best": {"1"}})}
	if v.Rank {
		v.Order = choice{Label: "Newest first", Href: searchHref(v.Q, nil)}
	}
}

func searchHref(q string, more url.Values) string {
	v := url.Values{}
	for k, list := range more {
		v[k] = list
	}
	if q != "" {
		v.Set("q", q)
	}
	if e := v.Encode(); e != "" {
		return "/search?" + e
	}
	return "/search"
}
