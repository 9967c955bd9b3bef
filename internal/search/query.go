package search

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// The limits of a query.
const (
	queryMax = 4 << 10 // bytes
	termsMax = 64
)

// The names before a colon.
const (
	fieldFrom   = "from"
	fieldTo     = "to"
	fieldAct    = "act"
	fieldThread = "thread"
	fieldConv   = "conversation" // another word for thread
	fieldAfter  = "after"
	fieldBefore = "before"
	fieldState  = "state"
	fieldIs     = "is"
)

// Fields are the names that may stand before a colon.
func Fields() []string {
	return []string{fieldFrom, fieldTo, fieldAct, fieldThread, fieldConv, fieldAfter, fieldBefore, fieldState, fieldIs}
}

// isOwed is the one value of is:
const isOwed = "owed"

// States are the values of state:, those of a delivery first.
func States() []string {
	return []string{"unread", "read", "done", "bounced", "asked", "decided", "expired"}
}

// Term is one part of a query.
type Term struct {
	Field  string // "" for words
	Value  string // without quotes and star
	Not    bool
	Prefix bool // word*
	part   string
}

// Query is what is looked for, parsed. The zero Query is everything.
type Query struct {
	Terms         []Term
	After, Before time.Time // zero: no limit
}

// Parse reads a query (docs/search.md): words and "phrases" that all must be
// there, field:value, and - before what must not. now is what lengths of time
// count from. The error is KindInvalid and names the part.
func Parse(text string, now time.Time) (Query, error) {
	var q Query
	switch {
	case len(text) > queryMax:
		return q, invalid("the query", "is over 4 KB long", "look for less")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }):
		return q, invalid("the query", "holds characters that no text has", "look for words")
	}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		t, left, err := nextTerm(rest)
		if err != nil {
			return q, err
		}
		rest = left
		if err := q.add(t, now); err != nil {
			return q, err
		}
		if len(q.Terms) > termsMax {
			return q, invalid("the query", "has more than 64 parts", "look for less")
		}
	}
	return q, nil
}

// Arguments puts a command line's arguments together: one with a space in it and
// nothing else of this syntax is a phrase, since the shell took its quotes.
func Arguments(args []string) string {
	var parts []string
	for _, a := range args {
		if strings.ContainsFunc(a, unicode.IsSpace) && !strings.Contains(a, `"`) && !slices.ContainsFunc(strings.Fields(a), special) {
			a = `"` + a + `"`
		}
		parts = append(parts, a)
	}
	return strings.Join(parts, " ")
}

func special(word string) bool {
	name, _, colon := strings.Cut(strings.TrimPrefix(word, "-"), ":")
	return strings.HasPrefix(word, "-") && len(word) > 1 || strings.HasSuffix(word, "*") || colon && slices.Contains(Fields(), strings.ToLower(name))
}

// nextTerm cuts the first part off.
func nextTerm(s string) (t Term, rest string, err error) {
	whole := s
	if len(s) > 1 && s[0] == '-' && !unicode.IsSpace(rune(s[1])) {
		t.Not, s = true, s[1:]
	}
	if name, value, ok := strings.Cut(s, ":"); ok && !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !unicode.IsLetter(r) }) && name != "" {
		lower := strings.ToLower(name)
		near := mail.Suggest(lower, Fields())
		switch {
		case slices.Contains(Fields(), lower):
			t.Field, s = lower, value
		case len(near) > 0 && near[0][0] == lower[0] && value != "" && !unicode.IsSpace(rune(value[0])) && value[0] != '/':
			return t, "", invalid(name, "is nothing that can be searched by", "did you mean "+near[0]+":? put the word into quotes to look for it")
		}
	}
	if strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s[1:], '"')
		if end < 0 {
			return t, "", invalid(s, "has no closing quote", `write "like this", and in a shell '"like this"'`)
		}
		t.Value, rest = s[1:1+end], s[end+2:]
	} else {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		t.Value, rest = s[:end], s[end:]
		if star, ok := strings.CutSuffix(t.Value, "*"); ok && t.Field == "" {
			t.Value, t.Prefix = star, true
		}
	}
	t.part = strings.TrimSpace(whole[:len(whole)-len(rest)])
	if t.Field == fieldConv {
		t.Field = fieldThread
	}
	return t, rest, nil
}

// add checks a term for what can be told without the office.
func (q *Query) add(t Term, now time.Time) error {
	if t.Field != "" && t.Value == "" {
		return invalid(t.part, "has no value", "write "+t.Field+":VALUE without a space")
	}
	if t.Not && slices.Contains([]string{fieldAfter, fieldBefore, fieldState, fieldIs}, t.Field) {
		return invalid(t.part, "cannot be turned round with -", "leave the - out, or say what you want instead")
	}
	switch t.Field {
	case "":
		if !strings.ContainsFunc(t.Value, inWord) {
			return invalid(t.part, "has no letter or digit to look for", "write a word")
		}
	case fieldAct:
		if t.Value = strings.ToLower(t.Value); !mail.Act(t.Value).Known() {
			return invalid(t.part, "is no act", "say "+joined(mail.Acts()))
		}
	case fieldState:
		if t.Value = strings.ToLower(t.Value); !slices.Contains(States(), t.Value) {
			return invalid(t.part, "is no state", "say "+joined(States()))
		}
	case fieldIs:
		if t.Value = strings.ToLower(t.Value); t.Value != isOwed {
			return invalid(t.part, "is nothing that a message can be", "say is:owed, or state:…")
		}
	case fieldAfter, fieldBefore:
		return q.date(t, now)
	}
	q.Terms = append(q.Terms, t)
	return nil
}

// date narrows the times. Of several, the narrowest counts.
func (q *Query) date(t Term, now time.Time) error {
	at, ok := parseDate(t.Value, now)
	if !ok {
		return invalid(t.part, "is no date", "write 2026-05-30, 2026-05-30T14:00 (both UTC), or a length such as 3d, 2h")
	}
	if t.Field == fieldAfter && (q.After.IsZero() || at.After(q.After)) {
		q.After = at
	}
	if t.Field == fieldBefore && (q.Before.IsZero() || at.Before(q.Before)) {
		q.Before = at
	}
	return nil
}

func parseDate(s string, now time.Time) (time.Time, bool) {
	for _, layout := range [...]string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			return t.UTC(), true
		}
	}
	day := now.UTC().Truncate(24 * time.Hour)
	switch s {
	case "today":
		return day, true
	case "yesterday":
		return day.AddDate(0, 0, -1), true
	}
	if s == "" || s[0] < '0' || s[0] > '9' { // a length, not a time that ResolveDeadline also reads
		return time.Time{}, false
	}
	t, err := mail.ResolveDeadline(s, now)
	if err != nil {
		return t, false
	}
	return now.Add(now.Sub(t)), true
}

// inWord reports whether the full-text index counts r as part of a word.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}

func joined[T ~string](list []T) string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return strings.Join(out, ", ")
}

func invalid(part, what, hint string) error {
	if r := []rune(part); len(r) > 60 {
		part = string(r[:60]) + "…"
	}
	return &mail.Error{Op: "search", Kind: mail.KindInvalid, Addr: mail.Neutralise(part, false), Err: errors.New(what), Hint: hint}
}
