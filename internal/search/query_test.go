package search

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mail"
)

func TestParse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 30, 14, 3, 11, 0, time.UTC)
	for text, want := range map[string]string{
		``:                               ``,
		`retry  loop`:                    `retry,loop`,
		`"retry loop" -draft`:            `retry loop,-draft`,
		`from:coder to:agent.ann`:        `from=coder,to=agent.ann`,
		`From:Coder`:                     `from=Coder`,
		`-from:coder`:                    `-from=coder`,
		`thread:x conversation:"y"`:      `thread=x,thread=y`,
		`retr*`:                          `retr*`,
		`"retr*"`:                        `retr*!`,
		`http://x/y retry.go:12 10:30`:   `http://x/y,retry.go:12,10:30`,
		`- a`:                            `error -`,
		`--`:                             `error --`,
		`-`:                              `error -`,
		`"-draft"`:                       `-draft!`,
		`after:3d`:                       `>2026-05-27T14:03:11Z`,
		`before:2026-05-30`:              `<2026-05-30T00:00:00Z`,
		`after:2026-05-01 after:2h`:      `>2026-05-30T12:03:11Z`,
		`after:today before:yesterday`:   `>2026-05-30T00:00:00Z,<2026-05-29T00:00:00Z`,
		`after:2026-05-30T10:00:00Z`:     `>2026-05-30T10:00:00Z`,
		`after:soon`:                     `error after:soon`,
		`after:-3d`:                      `error after:-3d`,
		`-after:3d`:                      `error -after:3d`,
		`state:unread state:DONE`:        `state=unread,state=done`,
		`state:lost`:                     `error state:lost`,
		`is:late`:                        `error is:late`,
		`act:shout`:                      `error act:shout`,
		`from:`:                          `error from:`,
		`from: ann`:                      `error from:`,
		`form:ann`:                       `error form`,
		`"abc`:                           `error "abc`,
		`from:"abc`:                      `error "abc`,
		`…`:                              `error …`,
		"a\x00b":                         `error the query`,
		"a\xff":                          `error the query`,
		strings.Repeat("abcdefgh ", 600): `error the query`,
		strings.Repeat("a ", 65):         `error the query`,
	} {
		q, err := Parse(text, now)
		got := describe(q)
		if e, ok := err.(*mail.Error); ok {
			got = "error " + e.Addr
			if e.Kind != mail.KindInvalid || e.Hint == "" {
				t.Errorf("%s: %v", text, err)
			}
		}
		if got != want && got != strings.ReplaceAll(want, "!", "") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func describe(q Query) string {
	var out []string
	for _, t := range q.Terms {
		s := t.Value
		if t.Field != "" {
			s = t.Field + "=" + s
		}
		if t.Not {
			s = "-" + s
		}
		if t.Prefix {
			s += "*"
		}
		out = append(out, s)
	}
	if !q.After.IsZero() {
		out = append(out, ">"+q.After.Format(time.RFC3339))
	}
	if !q.Before.IsZero() {
		out = append(out, "<"+q.Before.Format(time.RFC3339))
	}
	return strings.Join(out, ",")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`retry loop`:            {"retry", "loop"},
		`"retry loop" from:ann`: {"retry loop", "from:ann"},
		`from:ann retry x`:      {"from:ann retry", "x"},
		`retry -draft`:          {"retry -draft"},
		`"a b" c`:               {`"a b" c`},
		`"error: it broke"`:     {"error: it broke"},
		`"a - b"`:               {"a - b"},
		`retr* loop`:            {"retr* loop"},
	} {
		if got := Arguments(args); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`from:ann "retry loop" -x after:3d state:unread`)
	f.Add(`""" -"`)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text, time.Unix(0, 0))
		if err != nil {
			return
		}
		for _, term := range q.Terms {
			if fts := term.fts(); term.Field == "" && strings.Count(fts, `"`)%2 != 0 {
				t.Fatalf("%q: %s", text, fts)
			}
		}
	})
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 60)
	for _, c := range []struct{ body, query, want string }{
		{"Please look at retry.go, the Retry loop", "retry", "Please look at [retry].go, the [Retry] loop"},
		{"the retry\n\n   loop", `"retry loop"`, "the [retry loop]"},
		{"retries retry", "retr*", "[retries] [retry]"},
		{"nothing", "absent", "nothing"},
		{"", "x", ""},
		{"a \x1b[31mred\x1b[0m \u202e x", "red", "a ␛[31mred␛[0m [U+202E] x"},
		{"a \x1b[31m red", "red", "a ␛[31m [red]"},
		{long + "here it is " + long, "here", "…before before before before before before before [here] it is before before before before before before before before before before before before before before…"},
		{"from:x -retry", "retry -absent from:ann", "from:x -[retry]"},
	} {
		q, err := Parse(c.query, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, p := range snippet(c.body, wordsOf(q)) {
			if p.Hit {
				fmt.Fprintf(&b, "[%s]", p.Text)
			} else {
				b.WriteString(p.Text)
			}
		}
		if got := b.String(); got != c.want {
			t.Errorf("%q in %q:\n%q, want\n%q", c.query, c.body, got, c.want)
		}
	}
}
