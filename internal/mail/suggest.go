package mail

import (
	"cmp"
	"slices"
	"strings"
)

const (
	suggestMax = 3
	// suggestWidth bounds the work an absurdly long name can cause.
	suggestWidth = 2 * nameMax
)

// Suggest returns at most three of the known names that name may have been
// meant to be, best first: by edit distance (a swap of neighbours counts one),
// with names that begin with name, or with which name begins, behind the
// closest ones. Upper case counts as lower.
func Suggest(name string, known []string) []string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" || len(name) > suggestWidth {
		return nil
	}
	type candidate struct {
		name string
		rank int
	}
	var found []candidate
	for _, k := range known {
		d, longer := distance(name, k), max(len(name), len(k))
		prefix := len(name) >= 2 && strings.HasPrefix(k, name) || len(k) >= 2 && strings.HasPrefix(name, k)
		switch {
		case d <= 1+longer/5 && d < longer:
			found = append(found, candidate{k, d})
		case prefix:
			found = append(found, candidate{k, suggestWidth + d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	found = slices.Compact(found)
	var names []string
	for _, c := range found[:min(len(found), suggestMax)] {
		names = append(names, c.name)
	}
	return names
}

// distance is the optimal string alignment distance, in bytes.
func distance(a, b string) int {
	if len(b) > suggestWidth {
		return len(b)
	}
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
