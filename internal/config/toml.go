package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// This is the part of TOML 1.0 that postroom.toml uses: comments, [tables],
// bare keys, and on one line each strings, integers, booleans, times, and arrays
// of strings or of such arrays. The
// file is read at every start, and a whole TOML library costs a tenth of that
// start before main runs (docs/adr). What it does not know is an error with the
// line, never a guess.

// setting is one key with its value: string, int64, bool, time.Time or, for an
// array, []any of strings and [][]any of strings.
type setting struct {
	key   string // with its table: "policy.due"
	value any
	line  int
}

func parseTOML(data []byte) ([]setting, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not UTF-8")
	}
	out := make([]setting, 0, 32) // at once: each smaller array would take two pages at each start
	var tables []string
	table, i := "", -1
	for line := range strings.SplitSeq(string(data), "\n") {
		i++
		line = strings.TrimSpace(strings.TrimSuffix(line, "\r"))
		fail := func(what string) error { return fmt.Errorf("line %d: %s", i+1, what) }
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			name, rest, ok := strings.Cut(line[1:], "]")
			if name = strings.TrimSpace(name); !ok || !bareKey(name) || !onlyComment(rest) {
				return nil, fail("is no table such as [policy]")
			}
			if slices.Contains(tables, name) {
				return nil, fail("the table [" + name + "] stands there twice")
			}
			table, tables = name+".", append(tables, name)
		default:
			key, text, ok := strings.Cut(line, "=")
			if key = strings.TrimSpace(key); !ok || !bareKey(key) {
				return nil, fail("is no key = value")
			}
			value, err := parseValue(strings.TrimSpace(text))
			if err != nil {
				return nil, fail(key + " " + err.Error())
			}
			key = table + key
			if slices.ContainsFunc(out, func(s setting) bool { return s.key == key }) {
				return nil, fail(key + " stands there twice")
			}
			out = append(out, setting{key, value, i + 1})
		}
	}
	return out, nil
}

func bareKey(s string) bool {
	for _, c := range s {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}

func onlyComment(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || s[0] == '#'
}

func parseValue(s string) (any, error) {
	switch {
	case s == "":
		return nil, errors.New("has no value")
	case strings.HasPrefix(s, `"""`), strings.HasPrefix(s, `'''`), s[0] == '{':
		return nil, errors.New("is a table or a long string, which no setting is")
	case s[0] == '[', s[0] == '"', s[0] == '\'':
		value, rest, err := quoted(s, 0)
		if err == nil && !onlyComment(rest) {
			err = errors.New("has something behind its string or list")
		}
		return value, err
	}
	word, _, _ := strings.Cut(s, "#")
	word = strings.TrimSpace(word)
	switch word {
	case "true", "false":
		return word == "true", nil
	}
	if n, err := strconv.ParseInt(strings.ReplaceAll(word, "_", ""), 10, 64); err == nil {
		return n, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, strings.Replace(word, " ", "T", 1)); err == nil {
		return t.UTC(), nil
	}
	return nil, errors.New("is neither a string in quotes, nor a number, true, false or a time")
}

// maxNesting is how deep arrays go: one of arrays of strings.
const maxNesting = 2

// quoted reads a string or an array of such and returns what follows it.
func quoted(s string, depth int) (value any, rest string, err error) {
	switch {
	case s != "" && s[0] == '"':
		return basicString(s)
	case s != "" && s[0] == '\'':
		text, rest, ok := strings.Cut(s[1:], "'")
		if !ok {
			return nil, "", errors.New("is a string without an end")
		}
		return text, rest, nil
	case s != "" && s[0] == '[' && depth < maxNesting:
		return array(s[1:], depth)
	}
	return nil, "", errors.New("is no list of strings on one line")
}

// array reads what follows an opening bracket.
func array(s string, depth int) (value any, rest string, err error) {
	list := []any{}
	for {
		s = strings.TrimLeft(s, " \t")
		if end, ok := strings.CutPrefix(s, "]"); ok {
			return list, end, nil
		}
		item, rest, err := quoted(s, depth+1)
		if err != nil {
			return nil, "", err
		}
		list = append(list, item)
		s = strings.TrimLeft(rest, " \t")
		after, more := strings.CutPrefix(s, ",")
		if !more && !strings.HasPrefix(s, "]") {
			return nil, "", errors.New("has no comma between two values")
		}
		s = after
	}
}

// basicString reads "…" with TOML's escapes, and returns what follows it.
func basicString(s string) (text any, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c < 0x20 && c != '\t':
			return nil, "", errors.New("has a control character in its string")
		case c != '\\':
			b.WriteByte(c)
		default:
			r, n, err := escape(s[i+1:])
			if err != nil {
				return nil, "", err
			}
			b.WriteRune(r)
			i += n
		}
	}
	return nil, "", errors.New("is a string without an end")
}

// escape reads what follows a backslash and how many bytes it is.
func escape(s string) (rune, int, error) {
	plain := map[byte]rune{'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r', '"': '"', '\\': '\\'}
	if s == "" {
		return 0, 0, errors.New("is a string without an end")
	}
	if r, ok := plain[s[0]]; ok {
		return r, 1, nil
	}
	if n := map[byte]int{'u': 4, 'U': 8}[s[0]]; n > 0 && len(s) > n {
		if v, err := strconv.ParseUint(s[1:n+1], 16, 32); err == nil && utf8.ValidRune(rune(v)) {
			return rune(v), n + 1, nil
		}
	}
	return 0, 0, errors.New("has an escape that TOML does not know")
}

// quoteTOML writes a basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
