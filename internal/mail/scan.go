package mail

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep the values of unknown fields may nest.
const maxDepth = 100

// errIncomplete marks errors that may mean that somebody is still writing.
var errIncomplete = errors.New("the file ends too early")

// Incomplete reports whether err, from Parse or ParseAuthored, may mean that
// the file's author is in the middle of writing it: it is empty, stops before
// its end, or still has holes (design §3).
func Incomplete(err error) bool { return errors.Is(err, errIncomplete) }

// fault is something wrong at one place of a text. Whoever began the parse
// turns it into an *Error with line and column.
type fault struct {
	pos  int
	key  string // the field, "" if none
	what error
	hint string
	kind Kind // "" is KindInvalid
}

func (f *fault) Error() string { return f.what.Error() }

func faultAt(pos int, hint, format string, args ...any) *fault {
	return &fault{pos: pos, hint: hint, what: fmt.Errorf(format, args...)}
}

// scanner walks over JSON without building anything. The text must be valid
// UTF-8 without NUL bytes. In lenient mode it takes the faults of hand-written
// JSON whose meaning is certain (raw control characters in strings, a comma
// behind the last element) and notes where.
type scanner struct {
	data    []byte
	pos     int
	lenient bool
	raw     int // raw control characters met in strings
	commas  int // commas met behind a last element
}

// value is where one value stands in the text.
type value struct {
	start, end int
	present    bool
}

func (s *scanner) early() *fault {
	return &fault{pos: len(s.data), what: errIncomplete, hint: "write the rest of the file"}
}

// space skips white space and returns the next byte, 0 at the end.
func (s *scanner) space() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// object scans an object and calls member for each of its members, with the
// key and the place of the value.
func (s *scanner) object(depth int, member func(key string, at int, v value) *fault) *fault {
	s.pos++ // {
	for first := true; ; first = false {
		c := s.space()
		if c == '}' && (first || s.lastComma()) {
			s.pos++
			return nil
		}
		if c != '"' {
			return s.expected(`a field name in double quotes`)
		}
		at := s.pos
		if f := s.str(); f != nil {
			return f
		}
		key, f := s.unquote(value{start: at, end: s.pos})
		if f != nil {
			return f
		}
		if s.space() != ':' {
			return s.expected(`":" after the field name`)
		}
		s.pos++
		s.space()
		v := value{start: s.pos, present: true}
		if f := s.skip(depth + 1); f != nil {
			return f
		}
		v.end = s.pos
		if f := member(key, at, v); f != nil {
			return f
		}
		switch s.space() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return nil
		default:
			return s.expected(`"," or "}" after the value of ` + quoteShort(key))
		}
	}
}

// array scans an array and calls element for each of its elements.
func (s *scanner) array(depth int, element func(v value) *fault) *fault {
	s.pos++ // [
	for first := true; ; first = false {
		c := s.space()
		if c == ']' && (first || s.lastComma()) {
			s.pos++
			return nil
		}
		v := value{start: s.pos, present: true}
		if f := s.skip(depth + 1); f != nil {
			return f
		}
		v.end = s.pos
		if f := element(v); f != nil {
			return f
		}
		switch s.space() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.expected(`"," or "]" after the element`)
		}
	}
}

// lastComma reports whether a comma may stand behind the last element.
func (s *scanner) lastComma() bool {
	if s.lenient {
		s.commas++
	}
	return s.lenient
}

// skip scans one value of any type.
func (s *scanner) skip(depth int) *fault {
	if depth > maxDepth {
		return faultAt(s.pos, "nest less", "values nest deeper than %d", maxDepth)
	}
	c := s.space()
	switch {
	case c == '"':
		return s.str()
	case c == '{':
		return s.object(depth, func(string, int, value) *fault { return nil })
	case c == '[':
		return s.array(depth, func(value) *fault { return nil })
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		rest := s.data[s.pos:]
		if bytes.HasPrefix(rest, []byte(word)) {
			s.pos += len(word)
			return nil
		}
		if len(rest) > 0 && strings.HasPrefix(word, string(rest)) {
			return s.early()
		}
	}
	return s.expected("a value")
}

func (s *scanner) number() *fault {
	at := s.pos
	digits := func() bool {
		from := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos > from
	}
	next := func(set string) bool {
		if s.pos < len(s.data) && strings.IndexByte(set, s.data[s.pos]) >= 0 {
			s.pos++
			return true
		}
		return false
	}
	next("-")
	ok := next("0") || digits()
	if ok && next(".") {
		ok = digits()
	}
	if ok && next("eE") {
		next("+-")
		ok = digits()
	}
	switch {
	case ok:
		return nil
	case s.pos == len(s.data):
		return s.early()
	}
	return faultAt(at, "write a number such as 3, or quote it", "this is no number")
}

// str scans a string, leaving pos behind its closing quote. It checks escapes
// but not surrogate pairs, which matter only where a string is decoded.
func (s *scanner) str() *fault {
	s.pos++ // "
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if f := s.escape(); f != nil {
				return f
			}
		case c < ' ':
			if !s.lenient {
				return faultAt(s.pos, `write \n for a line break, \t for a tab`, "raw control character %#02x in a string", c)
			}
			s.raw++
			s.pos++
		default:
			s.pos++
		}
	}
	return s.early()
}

func (s *scanner) escape() *fault {
	rest := s.data[s.pos+1:]
	if len(rest) == 0 {
		return s.early()
	}
	switch rest[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		for i := 1; i <= 4; i++ {
			if i == len(rest) {
				return s.early()
			}
			if hexValue(rest[i]) < 0 {
				return faultAt(s.pos, `write \u and four hex digits`, `broken \u escape`)
			}
		}
		s.pos += 6
		return nil
	}
	r, _ := utf8.DecodeRune(rest)
	return faultAt(s.pos, `write \\ for a backslash`, `a backslash may not stand before %s`, quoteRune(r))
}

// unquote decodes the string at v, which str has scanned.
func (s *scanner) unquote(v value) (string, *fault) {
	text := s.data[v.start+1 : v.end-1]
	i := bytes.IndexByte(text, '\\')
	if i < 0 {
		return string(text), nil
	}
	out := make([]byte, 0, len(text))
	for {
		out = append(out, text[:i]...)
		r, size := decodeEscape(text[i:])
		if r == utf8.RuneError && text[i+1] == 'u' && !bytes.EqualFold(text[i+2:i+6], []byte("fffd")) {
			at := v.end - 1 - len(text) + i
			return "", faultAt(at, "write the character itself", "half of a surrogate pair in a string")
		}
		out = utf8.AppendRune(out, r)
		text = text[i+size:]
		if i = bytes.IndexByte(text, '\\'); i < 0 {
			return string(append(out, text...)), nil
		}
	}
}

// decodeEscape decodes the escape that b begins with; utf8.RuneError for half
// of a surrogate pair.
func decodeEscape(b []byte) (r rune, size int) {
	switch b[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(b[1]), 2
	}
	r = hex4(b[2:])
	switch {
	case r < 0xd800 || r > 0xdfff:
		return r, 6
	case r >= 0xdc00 || len(b) < 12 || b[6] != '\\' || b[7] != 'u':
		return utf8.RuneError, 6
	}
	low := hex4(b[8:])
	if low < 0xdc00 || low > 0xdfff {
		return utf8.RuneError, 6
	}
	return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), 12
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r = r<<4 + hexValue(c)
	}
	return r
}

func hexValue(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// expected is the fault of meeting something else at pos.
func (s *scanner) expected(what string) *fault {
	if s.pos >= len(s.data) {
		return s.early()
	}
	r, _ := utf8.DecodeRune(s.data[s.pos:])
	return faultAt(s.pos, "write "+what, "unexpected %s", quoteRune(r))
}

// position returns the line and the column, in characters, of pos; both begin
// at 1.
func position(data []byte, pos int) (line, column int) {
	before := data[:min(pos, len(data))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}
