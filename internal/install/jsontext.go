package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// node is one JSON value and where it stands.
type node struct {
	kind       byte // '{', '[', '"', or 'v' for numbers and words
	start, end int
	keys       []jsonKey // of an object, in order
	items      []*node   // of an object or a list, in order
	comma      bool      // a comma stands behind the last item
}

type jsonKey struct {
	name  string
	start int
}

// get returns the value of a member, nil if there is none. Of several the last
// one counts, as it does for every reader of JSON.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i].name == key {
			return n.items[i]
		}
	}
	return nil
}

// from is where item i of n begins, with its key.
func (n *node) from(i int) int {
	if n.kind == '{' {
		return n.keys[i].start
	}
	return n.items[i].start
}

// malformed says where a text does not parse.
type malformed struct {
	pos  int
	what string
}

func (m *malformed) Error() string { return m.what }

// placed turns a fault at a byte into an error that names line and column,
// both from 1, columns in characters.
func placed(path string, data []byte, err error) error {
	m, ok := err.(*malformed)
	if !ok {
		return err
	}
	before := data[:min(m.pos, len(data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return &mail.Error{Op: "read settings", Kind: mail.KindInvalid, Addr: fmt.Sprintf("%s:%d:%d", path, line, column),
		Err: errors.New(m.what), Hint: "mend it there and run the command again; nothing was written"}
}

// maxNesting is how deep values may nest.
const maxNesting = 200

// jsonReader parses JSON, with comments and a comma behind the last item where
// the program whose settings these are takes them.
type jsonReader struct {
	data     []byte
	pos      int
	comments bool
}

// parseJSON returns the value that data holds, nil if it holds none at all.
func parseJSON(data []byte, comments bool) (*node, error) {
	if at := invalidAt(data); at < len(data) {
		return nil, &malformed{at, "this is not UTF-8 text"}
	}
	r := &jsonReader{data: data, comments: comments}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		r.pos = 3
	}
	c, err := r.space()
	if err != nil || c == 0 {
		return nil, err
	}
	n, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if c, err = r.space(); err == nil && c != 0 {
		err = r.fault("the value ends before this, and nothing may follow it")
	}
	return n, err
}

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || r == 0 {
			return i
		}
		i += size
	}
	return len(data)
}

func (r *jsonReader) fault(what string) error { return &malformed{r.pos, what} }

// space skips what is no value and returns the next byte, 0 at the end.
func (r *jsonReader) space() (byte, error) {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.pos++
		case c == '/' && r.comments:
			if err := r.comment(); err != nil {
				return 0, err
			}
		default:
			return c, nil
		}
	}
	return 0, nil
}

func (r *jsonReader) comment() error {
	rest, end := r.data[r.pos:], -1
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if end = bytes.IndexByte(rest, '\n'); end < 0 {
			end = len(rest)
		}
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest[2:], []byte("*/")); end < 0 {
			return r.fault("this comment has no end")
		}
		end += 4
	default:
		return r.fault("a slash may stand only in a string or a comment")
	}
	r.pos += end
	return nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	if depth > maxNesting {
		return nil, r.fault("values nest too deep here")
	}
	c, err := r.space()
	if err != nil {
		return nil, err
	}
	n := &node{kind: c, start: r.pos}
	switch {
	case c == 0:
		return nil, r.fault("the file ends where a value should stand")
	case c == '{' || c == '[':
		err = r.container(n, depth)
	case c == '"':
		_, err = r.str()
	default:
		n.kind = 'v'
		err = r.word()
	}
	n.end = r.pos
	return n, err
}

// word reads a number, true, false or null.
func (r *jsonReader) word() error {
	end := r.pos
	for end < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,]}/:"), r.data[end]) < 0 {
		end++
	}
	if !json.Valid(r.data[r.pos:end]) {
		c, _ := utf8.DecodeRune(r.data[r.pos:])
		return r.fault(fmt.Sprintf("no value begins with %q like this", c))
	}
	r.pos = end
	return nil
}

func (r *jsonReader) str() (string, error) {
	start := r.pos
	for r.pos++; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; {
		case c == '\\':
			r.pos++
		case c < ' ':
			return "", r.fault("this string is not closed on its line")
		case c == '"':
			r.pos++
			var s string
			if json.Unmarshal(r.data[start:r.pos], &s) != nil {
				r.pos = start
				return "", r.fault("this string has an escape that JSON does not know")
			}
			return s, nil
		}
	}
	r.pos = len(r.data)
	return "", r.fault("the file ends within a string")
}

func (r *jsonReader) container(n *node, depth int) error {
	closer := n.kind + 2 // ']' and '}' in ASCII
	r.pos++
	for {
		c, err := r.space()
		if err != nil {
			return err
		}
		switch {
		case c == closer && (len(n.items) == 0 || n.comma && r.comments):
			r.pos++
			return nil
		case c == closer:
			return r.fault("a comma may not stand before this")
		case n.kind == '{':
			if err := r.key(n, c); err != nil {
				return err
			}
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items, n.comma = append(n.items, item), false
		switch c, err = r.space(); {
		case err != nil:
			return err
		case c == ',':
			r.pos++
			n.comma = true
		case c == closer:
			r.pos++
			return nil
		case c == 0:
			return r.fault("the file ends before this is closed with " + string(closer))
		default:
			return r.fault("a comma or " + string(closer) + " is missing before this")
		}
	}
}

func (r *jsonReader) key(n *node, c byte) error {
	if c != '"' {
		return r.fault("a name in double quotes should stand here")
	}
	k := jsonKey{start: r.pos}
	name, err := r.str()
	if err != nil {
		return err
	}
	k.name = name
	n.keys = append(n.keys, k)
	switch c, err := r.space(); {
	case err != nil:
		return err
	case c != ':':
		return r.fault("a colon should stand here")
	}
	r.pos++
	return nil
}
