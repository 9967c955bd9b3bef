package mail

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// line is one JSON object of a JSON Lines file.
type line struct {
	op string
	s  scanner
}

// maxLineFields bounds the fields of one line, known and unknown.
const maxLineFields = 64

func newLine(op string, data []byte, maxSize int) (*line, error) {
	l := &line{op: op, s: scanner{data: bytes.TrimRight(data, "\r\n")}}
	switch {
	case len(data) > maxSize:
		return nil, l.bad("line is too long")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, l.bad("line is not UTF-8 text")
	}
	return l, nil
}

// each calls member for every member of the line's object. A field given twice
// is a fault.
func (l *line) each(member func(key string, v value) *fault) error {
	if l.s.space() != '{' {
		return l.bad("line is no JSON object")
	}
	seen := make([]string, 0, 12)
	f := l.s.object(0, func(key string, at int, v value) *fault {
		for _, k := range seen {
			if k == key {
				return faultAt(at, "", "field %s stands twice", quoteShort(key))
			}
		}
		if len(seen) == maxLineFields {
			return faultAt(at, "", "more than %d fields", maxLineFields)
		}
		seen = append(seen, key)
		return member(key, v)
	})
	if f != nil {
		return l.bad(f.Error())
	}
	if l.s.space(); l.s.pos < len(l.s.data) {
		return l.bad("something follows the object")
	}
	return nil
}

func (l *line) string(v value, to *string) *fault {
	text, f := l.s.text(v)
	*to = text
	return f
}

func (l *line) int(v value, to *int) *fault {
	n, f := l.s.number31(v)
	*to = n
	return f
}

func (l *line) bad(what string) error {
	return &Error{Op: l.op, Kind: KindCorrupt, Err: errors.New(what)}
}

// validText makes s valid UTF-8.
func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
