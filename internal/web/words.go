package web

import (
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/internal/cli"
	"github.com/postroom/postroom/internal/mail"
)

// funcs are what templates can call.
func (s *Site) funcs() template.FuncMap {
	return template.FuncMap{
		// time: {{template "time" (at .Created)}} is "3m ago", with the exact time
		"at": func(t time.Time) moment { return momentOf(t, s.Env.Now()) },
		// line and text show what others wrote; template code escapes it besides
		"line": func(v string) string { return mail.Neutralise(v, false) },
		"text": func(v string) string { return strings.TrimRight(mail.Neutralise(v, true), "\n") },
		// short is the end of an id that commands take, too
		"short":  func(id any) string { return shortID(id) },
		"plural": plural,
		"with2":  func(a, b any) []any { return []any{a, b} },
		"lower":  strings.ToLower,
		"add":    func(a, b int) int { return a + b },
		"sub":    func(a, b int) int { return a - b },
		"cut":    cut,
		// gist is the beginning of a text in one line, without the marks of markdown
		"gist": gist,
		// markdown shows a message's text: {{markdown .Body}} within class "md"
		"markdown": markdown,
	}
}

// moment is a time as a page shows it.
type moment struct{ ISO, Exact, Words string }

func momentOf(t, now time.Time) moment {
	if t.IsZero() {
		return moment{Words: "never"}
	}
	m := moment{ISO: t.UTC().Format(time.RFC3339), Exact: t.UTC().Format("2006-01-02 15:04:05 UTC")}
	switch d := now.Sub(t); {
	case d < -time.Second:
		m.Words = "in " + cli.Ago(-d)
	case d < time.Second:
		m.Words = "now"
	default:
		m.Words = cli.Ago(d) + " ago"
	}
	return m
}

// shortID is the last part of an id.
func shortID(id any) string {
	var s string
	switch v := id.(type) {
	case mail.ID:
		s = string(v)
	case string:
		s = v
	}
	if i := strings.LastIndexByte(s, '-'); i >= 0 && i+1 < len(s) {
		return s[i+1:]
	}
	return s
}

// plural is "1 message" or "3 messages".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped is a count with its thousands apart.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// cut shortens text to n characters.
func cut(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(mail.Neutralise(s, true)), " "))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// gist is what a list shows of a text.
func gist(body string) string {
	const limit = 200
	return cut(strings.NewReplacer("**", "", "`", "", "\n- ", "\n", "\n* ", "\n", "\n#", "\n").Replace(body), limit)
}
