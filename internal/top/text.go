package top

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/postroom/postroom/internal/mail"
)

// marks is how many accents one letter may bear: more would cover other lines.
const marks = 3

const (
	// lineMost is how much of foreign text stands on one line, in characters.
	lineMost = 500
	// lineBytes is how much of it is looked at for that.
	lineBytes = 16 * lineMost
)

// line makes foreign text safe to show on one line.
func line(s string) string {
	return unstack(mail.CutSubject(s[:min(len(s), lineBytes)], lineMost))
}

// text makes foreign text safe to show with its line breaks; tabs are spaces.
func text(s string) string {
	return unstack(strings.ReplaceAll(mail.Neutralise(s, true), "\t", "    "))
}

// unstack leaves out accents beyond what a letter may bear.
func unstack(s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			n = 0
			return r
		}
		if n++; n > marks {
			return -1
		}
		return r
	}, s)
}

// width is how many columns text takes, styles apart. Where terminals disagree
// it is the most that one would take.
func width(s string) int { return ansi.StringWidthWc(s) }

// fit cuts text to some columns, and says so.
func fit(s string, room int) string {
	if width(s) <= room {
		return s
	}
	if room <= 0 {
		return ""
	}
	if cut := ansi.TruncateWc(s, room, "…"); width(cut) <= room {
		return cut
	}
	return byRune(ansi.Strip(s), room) // text that is counted otherwise when it is cut
}

// byRune is as much of plain text as surely fits.
func byRune(s string, room int) string {
	if width(s) <= room {
		return s
	}
	end := 0
	for i := range s {
		if width(s[:i])+1 > room {
			break
		}
		end = i
	}
	return s[:end] + "…"
}

// pad makes text exactly room columns wide.
func pad(s string, room int) string {
	s = fit(s, room)
	return s + strings.Repeat(" ", max(0, room-width(s)))
}

// wrap breaks neutralised text into lines of at most room columns.
func wrap(s string, room int) []string {
	return strings.Split(ansi.WrapWc(strings.TrimRight(s, "\n"), max(room, 1), ""), "\n")
}
