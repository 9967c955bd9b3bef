package web

import (
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/search"
)

// facetGroup is one way to narrow a search.
type facetGroup struct {
	Label string
	List  []facetRow
}

// facetRow is one value, how many hits have it, and the search with it.
type facetRow struct {
	Label, Href string
	N           int // 0: not counted
}

// chip is a part of the search that can be taken out.
type chip struct{ Part, Href string }

// facetRows is how many values of each kind are shown.
const facetRows = 6

// facetsOf counts what the hits have, and offers what the search does not say yet.
func facetsOf(q string, hits []search.Hit, now time.Time) []facetGroup {
	if len(hits) == 0 {
		return nil
	}
	count := map[string]map[string]int{"from": {}, "to": {}, "act": {}, "state": {}}
	for _, h := range hits {
		count["from"][h.Message.From]++
		count["to"][h.Message.To]++
		count["act"][string(h.Message.Act)]++
		states := map[string]bool{}
		for _, s := range h.States {
			states[s.State] = true
		}
		for s := range states {
			count["state"][s]++
		}
	}
	var out []facetGroup
	for _, g := range [][2]string{{"from", "From"}, {"to", "To"}, {"act", "Act"}, {"state", "State"}} {
		if hasField(q, g[0]) {
			continue
		}
		if rows := facetRowsOf(q, g[0], count[g[0]], len(hits)); len(rows) > 0 {
			out = append(out, facetGroup{g[1], rows})
		}
	}
	if !hasField(q, "after") {
		if rows := times(q, hits, now); len(rows) > 0 {
			out = append(out, facetGroup{"When", rows})
		}
	}
	return out
}

// facetRowsOf lists the commonest values. One that every hit has narrows nothing.
func facetRowsOf(q, field string, count map[string]int, all int) (rows []facetRow) {
	for value, n := range count {
		if n < all || len(count) > 1 {
			rows = append(rows, facetRow{value, searchHref(strings.TrimSpace(q+" "+field+":"+value), nil), n})
		}
	}
	slices.SortFunc(rows, func(a, b facetRow) int {
		if a.N != b.N {
			return b.N - a.N
		}
		return strings.Compare(a.Label, b.Label)
	})
	return rows[:min(len(rows), facetRows)]
}

func times(q string, hits []search.Hit, now time.Time) (rows []facetRow) {
	for _, t := range []struct {
		label, part string
		d           time.Duration
	}{{"last hour", "after:1h", time.Hour}, {"last day", "after:1d", 24 * time.Hour}, {"last 7 days", "after:7d", 7 * 24 * time.Hour}, {"last 30 days", "after:30d", 30 * 24 * time.Hour}} {
		n := 0
		for _, h := range hits {
			if h.Message.CreatedAt.After(now.Add(-t.d)) {
				n++
			}
		}
		if n == 0 || n == len(hits) {
			continue
		}
		rows = append(rows, facetRow{t.label, searchHref(strings.TrimSpace(q+" "+t.part), nil), n})
	}
	return rows
}

// hasField reports whether a search says something of a field.
func hasField(q, field string) bool {
	return slices.ContainsFunc(partsOf(q), func(p string) bool {
		return strings.HasPrefix(strings.ToLower(strings.TrimPrefix(p, "-")), field+":")
	})
}

// chipsOf are the parts of a search that name a field, each with the search
// without it.
func chipsOf(q string) (out []chip) {
	parts := partsOf(q)
	for i, p := range parts {
		name, _, ok := strings.Cut(strings.TrimPrefix(p, "-"), ":")
		if !ok || strings.HasPrefix(p, `"`) || !slices.Contains(search.Fields(), strings.ToLower(name)) {
			continue
		}
		rest := slices.Delete(slices.Clone(parts), i, i+1)
		out = append(out, chip{p, searchHref(strings.Join(rest, " "), nil)})
	}
	return out
}

// partsOf cuts a search where its spaces are, but for those in quotes.
func partsOf(q string) (out []string) {
	quoted, part := false, strings.Builder{}
	for _, r := range q {
		if r == '"' {
			quoted = !quoted
		}
		if r == ' ' && !quoted {
			if part.Len() > 0 {
				out = append(out, part.String())
				part.Reset()
			}
			continue
		}
		part.WriteRune(r)
	}
	if part.Len() > 0 {
		out = append(out, part.String())
	}
	return out
}
