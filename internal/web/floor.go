package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/approval"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/office"
	"github.com/postroom/postroom/internal/standing"
)

const (
	// deskMost is how many desks stand on the floor; who is left out has nothing to
	// do.
	deskMost = 60
	// latelyMost is how many deliveries the floor lists, pairsMost how many pairs of
	// correspondents.
	latelyMost = 12
	pairsMost  = 10
	// pairsFor is how far back correspondents are counted.
	pairsFor = time.Hour
)

// floorView is the page Floor; a part of it has only what it shows.
type floorView struct {
	Desks  []floorDesk
	Hidden int // agents that have no desk
	Sum    floorSum
	People floorPeople
	Lately []floorMove
	Pairs  floorPairs
}

// floorDesk is one agent at its desk.
type floorDesk struct {
	Name, Role, Runtime string
	Presence            presenceView
	Unread              int
	Oldest              time.Time // zero: nothing is unread
	Owes, Overdue       int
	Note                string // what a person should know
}

// floorSum is the office in one line.
type floorSum struct{ Agents, Busy, Dialogs, Unread, Overdue int }

// floorPeople is the desk of the people.
type floorPeople struct {
	Waiting int
	Oldest  time.Time
}

// floorMove is one delivery.
type floorMove struct {
	Delivery
	Subject string
}

// floorPairs is who talks to whom, the busiest first, since a time.
type floorPairs struct {
	List  []pair
	Most  int // messages of the busiest
	More  int // pairs that are left out
	Since time.Time
	// Cut: Since is later than it should be, so many messages there were.
	Cut bool
}

// pair is two correspondents and how many messages went each way.
type pair struct {
	A, B     string
	There    int // from A to B
	Back     int
	LastSeen time.Time
}

// All is how many messages the pair exchanged.
func (p pair) All() int { return p.There + p.Back }

// floor shows the page Floor.
func (s *Site) floor(w http.ResponseWriter, r *http.Request) {
	o, err := s.open()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var v floorView
	part := r.URL.Query().Get("part")
	if part == "" || part == "desks" {
		list, err := s.standing(r.Context(), o)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		v.Desks, v.Hidden, v.Sum = desksOf(list)
		v.People = peopleOf(o)
	}
	if part == "" || part == "lately" {
		lately := s.hub(o).Lately(r.Context())
		v.Lately = withSubjects(o, newest(lately, latelyMost))
		v.Pairs = pairsOf(lately, o.Sys.Now())
	}
	s.render(w, r, "floor", view{Title: "Floor", Nav: "floor", Data: v})
}

// standing is how all agents in service stand, by name.
func (s *Site) standing(ctx context.Context, o *office.Office) ([]standing.Agent, error) {
	return s.behind.roll.call(ctx, func() ([]standing.Agent, error) {
		book, err := o.Book()
		if err != nil {
			return nil, err
		}
		x, err := s.Env.LookerWith(o, &s.behind.memo)
		if err != nil {
			return nil, err
		}
		var list []standing.Agent
		for e := range book.All() {
			if !e.Archived && !e.Speaks() {
				list = append(list, x.Look(ctx, e))
			}
		}
		slices.SortFunc(list, func(a, b standing.Agent) int { return strings.Compare(a.Name, b.Name) })
		return list, ctx.Err()
	})
}

// desksOf puts the agents at their desks, by name. If there are too many, those
// with something to do or heard of last have one.
func desksOf(list []standing.Agent) (desks []floorDesk, hidden int, sum floorSum) {
	for _, a := range list {
		sum.Agents++
		sum.Unread += a.Unread
		sum.Overdue += a.Overdue
		switch a.Presence {
		case standing.Busy:
			sum.Busy++
		case standing.AtDialog:
			sum.Dialogs++
		}
	}
	if hidden = max(0, len(list)-deskMost); hidden > 0 {
		list = slices.Clone(list)
		slices.SortStableFunc(list, busierFirst)
		list = list[:deskMost]
		slices.SortFunc(list, func(a, b standing.Agent) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, a := range list {
		d := floorDesk{Name: a.Name, Role: a.Role, Runtime: a.Runtime, Presence: presenceOf(a), Unread: a.Unread, Owes: a.Owes,
			Overdue: a.Overdue, Note: noteOf(a)}
		if a.Oldest != nil {
			d.Oldest = *a.Oldest
		}
		desks = append(desks, d)
	}
	return desks, hidden, sum
}

// noteOf is what a desk says besides what it counts: why mail may not be read.
func noteOf(a standing.Agent) string {
	switch {
	case a.Problem != "":
		return a.Problem
	case a.Presence == standing.AtDialog, a.Presence == standing.Down && (a.Unread > 0 || a.Owes > 0):
		return a.Evidence
	case a.Wake != nil && a.Wake.State == standing.WakeFailing:
		return "waking it fails: " + a.Wake.Evidence
	case a.Presence == standing.NotSeen && a.Unread > 0:
		return a.Evidence
	}
	return ""
}

// busierFirst puts agents first about whom somebody should know, then those with
// mail, then by when they were heard of.
func busierFirst(a, b standing.Agent) int {
	rank := func(x standing.Agent) int {
		switch {
		case x.Behind != "" || x.Problem != "" || x.Presence == standing.AtDialog:
			return 0
		case x.Unread > 0 || x.Owes > 0:
			return 1
		}
		return 2
	}
	seen := func(x standing.Agent) time.Time {
		if x.LastSeen == nil {
			return time.Time{}
		}
		return *x.LastSeen
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), seen(b).Compare(seen(a)))
}

// peopleOf looks at what waits for a person; what can't be read is the inbox's to
// tell.
func peopleOf(o *office.Office) floorPeople {
	open, err := approval.Open(o.FS)
	if err != nil || len(open) == 0 {
		return floorPeople{}
	}
	return floorPeople{Waiting: len(open), Oldest: open[0].Created}
}

// newest are the last n deliveries, the newest first.
func newest(list []Delivery, n int) []Delivery {
	list = slices.Clone(list[max(0, len(list)-n):])
	slices.Reverse(list)
	return list
}

// withSubjects reads the subjects from the office's copies. One that is not there
// yet comes with the next look.
func withSubjects(o *office.Office, list []Delivery) []floorMove {
	var out []floorMove
	for _, d := range list {
		m := floorMove{Delivery: d}
		if msg, _, err := o.ReadMessage(d.ID); err == nil {
			m.Subject = msg.Subject
		}
		out = append(out, m)
	}
	return out
}

// pairsOf counts who wrote to whom within pairsFor. What the office itself writes
// is no talk.
func pairsOf(list []Delivery, now time.Time) floorPairs {
	v := floorPairs{Since: now.Add(-pairsFor)}
	if len(list) >= keptLately && list[0].At.After(v.Since) {
		v.Since, v.Cut = list[0].At, true
	}
	at := map[[2]string]int{}
	for _, d := range list {
		if d.At.Before(v.Since) || d.From == mail.NamePostroom || d.From == d.To {
			continue
		}
		a, b := min(d.From, d.To), max(d.From, d.To)
		i, known := at[[2]string{a, b}]
		if !known {
			i = len(v.List)
			at[[2]string{a, b}] = i
			v.List = append(v.List, pair{A: a, B: b})
		}
		p := &v.List[i]
		if p.LastSeen = d.At; d.From == a {
			p.There++
		} else {
			p.Back++
		}
	}
	slices.SortStableFunc(v.List, func(x, y pair) int {
		return cmp.Or(y.All()-x.All(), strings.Compare(x.A, y.A), strings.Compare(x.B, y.B))
	})
	if len(v.List) > 0 {
		v.Most = v.List[0].All()
	}
	if v.More = max(0, len(v.List)-pairsMost); v.More > 0 {
		v.List = v.List[:pairsMost]
	}
	return v
}
