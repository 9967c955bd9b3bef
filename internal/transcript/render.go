package transcript

import (
	"strings"
	"time"
	"unicode"

	"github.com/postroom/postroom/internal/mail"
)

// The two ways to write who wrote to whom.
const (
	Arrow      = "→"
	ArrowASCII = "->"
)

const (
	mark     = "## ["
	headTime = "2006-01-02 15:04 UTC"
	dot      = " · "
	rule     = "---"
)

// Render returns one section (design §10):
//
//	## [a→b] 2026-05-30 14:03 UTC
//
//	> request · subject · id
//
//	body
//
//	---
//
// with an empty line behind. header is the text between the brackets, with →
// between the parties; it is written with arrow ("" is →). at is the time of
// the delivery. Subject and body are shown as mail.Neutralise has them, the
// body without line ends behind it.
func Render(header string, m *mail.Message, at time.Time, arrow string) []byte {
	if arrow == "" {
		arrow = Arrow
	}
	body := Escape(Body(m.Body))
	var b strings.Builder
	b.Grow(len(body) + len(m.Subject) + 160)
	b.WriteString(mark + strings.ReplaceAll(line(header), Arrow, arrow) + "] " + at.UTC().Format(headTime))
	b.WriteString("\n\n> " + line(string(m.Act)) + dot + line(m.Subject) + dot + line(string(m.ID)) + "\n\n")
	if body != "" {
		b.WriteString(body + "\n\n")
	}
	b.WriteString(rule + "\n\n")
	return []byte(b.String())
}

// line returns s as it is shown on one line.
func line(s string) string { return strings.TrimSpace(mail.Neutralise(s, false)) }

// Body returns a body as a transcript shows it, before Escape and after
// Unescape.
func Body(s string) string { return strings.TrimRight(mail.Neutralise(s, true), "\n") }

// Escape puts a backslash before the ## of each line that somebody could take
// for a section's header: ## and [ with or without white space before, between
// and in quotes, also where the ## is escaped already, so that Unescape gives
// back exactly what was there. Markdown shows the same text.
func Escape(s string) string { return eachHeader(s, `\`, 0) }

// Unescape undoes Escape.
func Unescape(s string) string { return eachHeader(s, "", 1) }

// eachHeader puts add in place of the first drop backslashes of each line that
// looks like a header and has at least so many.
func eachHeader(s, add string, drop int) string {
	var b strings.Builder
	for rest := s; rest != ""; {
		end := lineEnd(rest)
		at, slashes, found := headerAt(rest[:end])
		if found && slashes >= drop {
			b.WriteString(rest[:at] + add + rest[at+drop:end])
		} else {
			b.WriteString(rest[:end])
		}
		rest = rest[end:]
	}
	return b.String()
}

// lineEnd returns the length of the first line of s with what ends it, for
// every character that some reader takes for a line's end.
func lineEnd(s string) int {
	for i, r := range s {
		switch r {
		case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e:
			return i + 1
		case 0x85:
			return i + 2
		case 0x2028, 0x2029:
			return i + 3
		}
	}
	return len(s)
}

// headerAt returns where in line the backslashes, if any, and the ## of what
// looks like a header stand.
func headerAt(line string) (at, slashes int, found bool) {
	rest := strings.TrimLeftFunc(line, func(r rune) bool { return r == '>' || blank(r) })
	at = len(line) - len(rest)
	rest = strings.TrimLeft(rest, `\`)
	slashes = len(line) - at - len(rest)
	rest, found = strings.CutPrefix(rest, "##")
	return at, slashes, found && strings.HasPrefix(strings.TrimLeftFunc(rest, blank), "[")
}

func blank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }
