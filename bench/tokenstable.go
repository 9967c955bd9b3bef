package main

import (
	"fmt"
	"slices"
	"strings"
)

// tokensTable is what was counted: what the hooks of each coding CLI say, one
// column each, and what is the same for all.
func tokensTable(counts []counted) string {
	if len(counts) == 0 {
		return ""
	}
	var columns, hooks []string
	for _, c := range counts {
		if c.runtime != "" && !slices.Contains(columns, c.runtime) {
			columns = append(columns, c.runtime)
		}
		if c.runtime != "" && !slices.Contains(hooks, c.what) {
			hooks = append(hooks, c.what)
		}
	}
	var s strings.Builder
	fmt.Fprintf(&s, "\nTokens at most (one for each %.1f bytes, of words with a digit for each %.1f), and the bytes.\n", perTokenOfText, perTokenOfIDs)
	if len(columns) > 0 {
		fmt.Fprintf(&s, "\n| said by hooks | %s | limit | |\n|---|%s---|---|\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	}
	for _, what := range hooks {
		fmt.Fprintf(&s, "| %s |", what)
		worst := counted{limit: -1}
		for _, name := range columns {
			i := slices.IndexFunc(counts, func(c counted) bool { return c.what == what && c.runtime == name })
			if i < 0 {
				s.WriteString(" |")
				continue
			}
			c := counts[i]
			s.WriteString(" " + c.String() + " |")
			if c.bytes >= worst.bytes {
				worst = c
			}
		}
		s.WriteString(worst.verdict() + "\n")
	}
	s.WriteString("\n| read or shown | all | limit | |\n|---|---|---|---|\n")
	for _, c := range counts {
		if c.runtime == "" {
			fmt.Fprintf(&s, "| %s | %s |%s\n", c.what, c, c.verdict())
		}
	}
	return s.String()
}

// String is tokens and bytes.
func (c counted) String() string {
	if c.bytes == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%d B)", c.tokens(), c.bytes)
}

// verdict is the last two cells of a row.
func (c counted) verdict() string {
	switch {
	case c.limit < 0:
		return " | |"
	case c.tokens() > c.limit:
		return fmt.Sprintf(" %d | **missed** |", c.limit)
	}
	return fmt.Sprintf(" %d | ok |", c.limit)
}
