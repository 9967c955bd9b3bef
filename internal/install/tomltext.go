package install

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlValue is one value and where it stands. Text is that of a string.
type tomlValue struct {
	kind       byte // '"' string, '[' list, '{' inline table, 'v' anything else
	start, end int
	text       string
	items      []tomlValue // of a list
	entries    []tomlEntry // of an inline table
}

// tomlEntry is key = value.
type tomlEntry struct {
	key        []string
	start, end int
	value      tomlValue
}

// tomlTable is what stands under one header; the first has none.
type tomlTable struct {
	name       []string
	list       bool // [[name]]
	start, end int  // from the header to the end of its last entry
	entries    []tomlEntry
}

// tomlReader parses TOML 1.0, as far as one has to in order to know where
// things stand and that the file is whole.
type tomlReader struct {
	data []byte
	pos  int
}

func parseTOML(data []byte) ([]tomlTable, error) {
	if at := invalidAt(data); at < len(data) {
		return nil, &malformed{at, "this is not UTF-8 text"}
	}
	r := &tomlReader{data: data}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		r.pos = 3
	}
	tables := []tomlTable{{start: r.pos, end: r.pos}}
	seen := map[string]bool{}
	for {
		if err := r.blank(); err != nil {
			return nil, err
		}
		if r.pos == len(data) {
			return tables, nil
		}
		if data[r.pos] == '[' {
			t, err := r.header()
			if err != nil {
				return nil, err
			}
			if name := joinPath(t.name); !t.list && seen[name] {
				return nil, &malformed{t.start, "the table [" + strings.Join(t.name, ".") + "] stands in the file twice"}
			} else if !t.list {
				seen[name] = true
			} else {
				forget(seen, name)
			}
			tables = append(tables, t)
		} else {
			t := &tables[len(tables)-1]
			e, err := r.entry()
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(t.entries, func(o tomlEntry) bool { return slices.Equal(o.key, e.key) }) {
				return nil, &malformed{e.start, strings.Join(e.key, ".") + " stands in its table twice"}
			}
			t.entries, t.end = append(t.entries, e), e.end
		}
		if err := r.endOfLine(); err != nil {
			return nil, err
		}
	}
}

// forget: each [[list]] begins its tables anew.
func forget(seen map[string]bool, list string) {
	for name := range seen {
		if strings.HasPrefix(name, list+"\n") {
			delete(seen, name)
		}
	}
}

func (r *tomlReader) fault(what string) error { return &malformed{r.pos, what} }

func (r *tomlReader) peek() byte {
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

func (r *tomlReader) has(s string) bool { return bytes.HasPrefix(r.data[r.pos:], []byte(s)) }

func (r *tomlReader) spaces() {
	for c := r.peek(); c == ' ' || c == '\t'; c = r.peek() {
		r.pos++
	}
}

// blank skips white space, line ends and comments.
func (r *tomlReader) blank() error {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || r.has("\r\n"):
			r.pos++
		case c == '#':
			r.comment()
		default:
			return nil
		}
	}
	return nil
}

func (r *tomlReader) comment() {
	if i := bytes.IndexByte(r.data[r.pos:], '\n'); i >= 0 {
		r.pos += i
	} else {
		r.pos = len(r.data)
	}
}

func (r *tomlReader) endOfLine() error {
	r.spaces()
	switch {
	case r.peek() == '#':
		r.comment()
	case r.pos == len(r.data) || r.peek() == '\n' || r.has("\r\n"):
	default:
		return r.fault("the line should end here")
	}
	return nil
}

func (r *tomlReader) header() (tomlTable, error) {
	t := tomlTable{start: r.pos}
	open, shut := "[", "]"
	if r.has("[[") {
		open, shut, t.list = "[[", "]]", true
	}
	r.pos += len(open)
	name, err := r.key()
	if err != nil {
		return t, err
	}
	if t.name = name; !r.has(shut) {
		return t, r.fault("the table's name should be closed with " + shut + " here")
	}
	r.pos += len(shut)
	t.end = r.pos
	return t, nil
}

// key reads a.b."c d".
func (r *tomlReader) key() ([]string, error) {
	var parts []string
	for {
		r.spaces()
		start := r.pos
		switch c := r.peek(); {
		case c == '"' || c == '\'':
			s, err := r.str()
			if err != nil {
				return nil, err
			}
			parts = append(parts, s)
		default:
			for c = r.peek(); c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; c = r.peek() {
				r.pos++
			}
			if r.pos == start {
				return nil, r.fault("a name should stand here")
			}
			parts = append(parts, string(r.data[start:r.pos]))
		}
		if r.spaces(); r.peek() != '.' {
			return parts, nil
		}
		r.pos++
	}
}

func (r *tomlReader) entry() (e tomlEntry, err error) {
	e.start = r.pos
	if e.key, err = r.key(); err != nil {
		return e, err
	}
	if r.peek() != '=' {
		return e, r.fault("an equals sign should stand here")
	}
	r.pos++
	r.spaces()
	e.value, err = r.value(0)
	e.end = r.pos
	return e, err
}

func (r *tomlReader) value(depth int) (v tomlValue, err error) {
	v.start, v.kind = r.pos, 'v'
	c := r.peek()
	switch {
	case depth > maxNesting:
		return v, r.fault("values nest too deep here")
	case c == '"' || c == '\'':
		v.kind = '"'
		v.text, err = r.str()
	case c == '[':
		v.kind = '['
		err = r.list(&v, depth)
	case c == '{':
		v.kind = '{'
		err = r.inline(&v, depth)
	default:
		err = r.word()
	}
	v.end = r.pos
	return v, err
}

// word reads a number, a time, true or false. What exactly is for the program
// whose file it is.
func (r *tomlReader) word() error {
	start := r.pos
	for c := r.peek(); c == '_' || c == '-' || c == '+' || c == '.' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; c = r.peek() {
		r.pos++
	}
	if r.peek() == ' ' && r.pos-start == 10 && r.pos+1 < len(r.data) && r.data[r.pos+1] >= '0' && r.data[r.pos+1] <= '9' {
		r.pos++ // 2026-05-30 14:03:11
		return r.word()
	}
	word := string(r.data[start:r.pos])
	first := strings.TrimLeft(word, "+-")
	switch {
	case word == "true" || word == "false" || first == "inf" || first == "nan":
	case first != "" && first[0] >= '0' && first[0] <= '9':
	default:
		r.pos = start
		return r.fault("a value should stand here: a string wants quotes")
	}
	return nil
}

func (r *tomlReader) list(v *tomlValue, depth int) error {
	r.pos++
	for {
		if err := r.blank(); err != nil {
			return err
		}
		if r.peek() == ']' {
			r.pos++
			return nil
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
		if err := r.blank(); err != nil {
			return err
		}
		switch r.peek() {
		case ',':
			r.pos++
		case ']':
		default:
			return r.fault("a comma or ] is missing before this")
		}
	}
}

func (r *tomlReader) inline(v *tomlValue, depth int) error {
	r.pos++
	for first := true; ; first = false {
		r.spaces()
		if r.peek() == '}' && first {
			r.pos++
			return nil
		}
		e := tomlEntry{start: r.pos}
		var err error
		if e.key, err = r.key(); err != nil {
			return err
		}
		if r.peek() != '=' {
			return r.fault("an equals sign should stand here")
		}
		r.pos++
		r.spaces()
		if e.value, err = r.value(depth + 1); err != nil {
			return err
		}
		e.end = r.pos
		v.entries = append(v.entries, e)
		r.spaces()
		switch r.peek() {
		case ',':
			r.pos++
		case '}':
			r.pos++
			return nil
		default:
			return r.fault("a comma or } is missing before this")
		}
	}
}

// str reads a string of any of the four kinds.
func (r *tomlReader) str() (string, error) {
	quote := string(r.data[r.pos : r.pos+1])
	start, long := r.pos, strings.Repeat(quote, 3)
	if r.has(long) {
		return r.longString(long)
	}
	var b strings.Builder
	for r.pos++; r.pos < len(r.data); {
		switch c := r.data[r.pos]; {
		case c == quote[0]:
			r.pos++
			return b.String(), nil
		case c == '\n' || c == '\r':
			return "", r.fault("this string is not closed on its line")
		case c == '\\' && quote == `"`:
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			r.pos++
		}
	}
	r.pos = start
	return "", r.fault("this string is not closed")
}

func (r *tomlReader) longString(quote string) (string, error) {
	start := r.pos
	r.pos += 3
	for from := r.pos; r.pos < len(r.data); r.pos++ {
		if r.data[r.pos] == '\\' && quote[0] == '"' {
			r.pos++
			continue
		}
		if r.has(quote) {
			for i := 0; i < 2 && r.pos+3 < len(r.data) && r.data[r.pos+3] == quote[0]; i++ {
				r.pos++ // up to two quotes may stand before the end
			}
			text := string(r.data[from:r.pos])
			r.pos += 3
			return text, nil
		}
	}
	r.pos = start
	return "", r.fault("this string is not closed")
}

func (r *tomlReader) escape(b *strings.Builder) error {
	rest := r.data[r.pos+1:]
	if len(rest) == 0 {
		return r.fault("the file ends within a string")
	}
	if i := strings.IndexByte(`btnfre"\`, rest[0]); i >= 0 {
		b.WriteByte("\b\t\n\f\r\x1b\"\\"[i])
		r.pos += 2
		return nil
	}
	if n := map[byte]int{'u': 4, 'U': 8, 'x': 2}[rest[0]]; n > 0 && len(rest) > n {
		if v, err := strconv.ParseUint(string(rest[1:n+1]), 16, 32); err == nil && utf8.ValidRune(rune(v)) {
			b.WriteRune(rune(v))
			r.pos += n + 2
			return nil
		}
	}
	return r.fault(fmt.Sprintf("a backslash may not stand before %q", rune(rest[0])))
}
