package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postroom/postroom/internal/mail"
)

// obj is a JSON object with its members in order, to be written.
type obj []field

type field struct {
	key   string
	value any // string, int, bool, obj or []any
}

// jsonDoc is a JSON file being edited. Every edit leaves it parsed.
type jsonDoc struct {
	path     string
	data     []byte
	comments bool
	root     *node    // nil: the file is empty
	made     []string // lists and objects that were made, as paths
}

func openJSON(path string, data []byte, comments bool) (*jsonDoc, error) {
	d := &jsonDoc{path: path, data: data, comments: comments}
	if err := d.parse(); err != nil {
		return nil, err
	}
	if d.root == nil && bytes.IndexByte(data, '/') >= 0 { // what is put behind a comment may become part of it
		return nil, placed(path, data, &malformed{len(data), "there are only comments here, and settings are an object: add {}"})
	}
	if d.root != nil && d.root.kind != '{' {
		return nil, placed(path, data, &malformed{d.root.start, "settings are an object in braces, and this is none"})
	}
	return d, nil
}

func (d *jsonDoc) parse() (err error) {
	d.root, err = parseJSON(d.data, d.comments)
	return placed(d.path, d.data, err)
}

// at is the value at path, nil if there is none.
func (d *jsonDoc) at(path ...string) *node {
	n := d.root
	for _, key := range path {
		if n == nil || n.kind != '{' {
			return nil
		}
		n = n.get(key)
	}
	return n
}

// text decodes a string; "" for every other value.
func (d *jsonDoc) text(n *node) string {
	var s string
	if n != nil && n.kind == '"' {
		_ = json.Unmarshal(d.data[n.start:n.end], &s)
	}
	return s
}

// splice replaces data[from:to].
func (d *jsonDoc) splice(from, to int, text string) error {
	d.data = slices.Concat(d.data[:from], []byte(text), d.data[to:])
	return d.parse()
}

// container returns the object or list at path, and makes what is missing.
func (d *jsonDoc) container(kind byte, path ...string) (*node, error) {
	if d.root == nil {
		d.data = append(d.data, "{}\n"...)
		if err := d.parse(); err != nil {
			return nil, err
		}
	}
	for i := range path {
		want, empty := byte('{'), "{}"
		if i == len(path)-1 {
			want, empty = kind, string([]byte{kind, kind + 2})
		}
		parent := d.at(path[:i]...)
		n := parent.get(path[i])
		if n == nil {
			if err := d.insert(parent, path[i], raw(empty)); err != nil {
				return nil, err
			}
			d.made = append(d.made, joinPath(path[:i+1]))
			continue
		}
		if n.kind != want {
			shape := map[byte]string{'{': "an object in braces", '[': "a list in brackets"}[want]
			return nil, placed(d.path, d.data, &malformed{n.start, strings.Join(path[:i+1], ".") + " should be " + shape})
		}
	}
	return d.at(path...), nil
}

// joinPath is how a path is kept; names may hold anything but a line break.
func joinPath(path []string) string { return strings.Join(path, "\n") }

// raw is JSON text that is written as it is.
type raw string

// insert adds value to n behind what is there: under key, if n is an object.
func (d *jsonDoc) insert(n *node, key string, value any) error {
	closer := n.end - 1
	tail := closer // behind the last thing before the closer
	for tail > n.start+1 && bytes.IndexByte([]byte(" \t\r\n"), d.data[tail-1]) >= 0 {
		tail--
	}
	w := jsonWriter{nl: d.newline(), unit: d.unit(), flat: d.flat(n)}
	indent := d.indentOf(n)
	w.member(key, value, n.kind == '{', indent+w.unit)
	text := w.b.String()
	switch {
	case len(n.items) == 0 && w.flat:
		return d.splice(tail, closer, text)
	case len(n.items) == 0:
		return d.splice(tail, closer, w.nl+indent+w.unit+text+w.nl+indent)
	}
	last := n.items[len(n.items)-1].end
	comma, sep, trail := ",", " ", ""
	if w.nl == "" {
		sep = ""
	}
	if n.comma {
		comma, trail = "", ","
	}
	if !w.flat {
		first := d.indentAt(n.from(0))
		w.b.Reset()
		w.member(key, value, n.kind == '{', first)
		text, sep = w.b.String(), w.nl+first
	}
	return d.splice(last, tail, comma+string(d.data[last:tail])+sep+text+trail)
}

// newline is how the file ends its lines, "" if it has one line only.
func (d *jsonDoc) newline() string {
	body := bytes.TrimSpace(d.data)
	i := bytes.IndexByte(body, '\n')
	switch {
	case i < 0 && len(body) > 2:
		return ""
	case i > 0 && body[i-1] == '\r':
		return "\r\n"
	}
	return "\n"
}

// flat reports whether what is put into n stays on n's line.
func (d *jsonDoc) flat(n *node) bool {
	if d.newline() == "" {
		return true
	}
	return len(n.items) > 0 && bytes.IndexByte(d.data[n.start:n.end], '\n') < 0
}

// unit is one step of indentation.
func (d *jsonDoc) unit() string {
	if d.root != nil && len(d.root.items) > 0 {
		if s := d.indentAt(d.root.from(0)); s != "" {
			return s
		}
	}
	return "  "
}

// indentAt is the white space that the line of pos begins with.
func (d *jsonDoc) indentAt(pos int) string {
	line := d.data[bytes.LastIndexByte(d.data[:pos], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func (d *jsonDoc) indentOf(n *node) string { return d.indentAt(n.start) }

// remove takes item i out of n, with one comma.
func (d *jsonDoc) remove(n *node, i int) error {
	from, to := n.from(i), n.items[i].end
	low := n.start + 1
	if i > 0 {
		low = n.items[i-1].end
	}
	blank := from
	for from > low && bytes.IndexByte([]byte(" \t\r\n"), d.data[from-1]) >= 0 {
		from--
	}
	comment := bytes.IndexByte(d.data[low:from], '/') >= 0
	last := i == len(n.items)-1
	switch {
	case !last || n.comma:
		to = d.commaBehind(to) + 1
	case i > 0:
		comma := d.commaBehind(low)
		if comment && !d.endsLine(to) {
			from = blank // what follows may not end up in the comment
		}
		d.data = slices.Concat(d.data[:comma], d.data[comma+1:from], d.data[to:])
		return d.parse()
	}
	switch {
	case comment && !d.endsLine(to):
		from = blank
	case comment: // its line break stays
	case len(n.items) == 1 && len(bytes.TrimSpace(d.data[to:n.end-1])) == 0:
		to = n.end - 1 // nothing is left: close it up
	}
	return d.splice(from, to, "")
}

// endsLine reports whether only white space stands between pos and the line's end.
func (d *jsonDoc) endsLine(pos int) bool {
	return bytes.HasPrefix(bytes.TrimLeft(d.data[pos:], " \t\r"), []byte("\n"))
}

// commaBehind is where the next comma outside of comments stands.
func (d *jsonDoc) commaBehind(pos int) int {
	r := jsonReader{data: d.data, pos: pos, comments: d.comments}
	_, _ = r.space() // it was parsed before
	return r.pos
}

// drop removes the value at path, and then what was made around it, as far as
// it is empty now.
func (d *jsonDoc) drop(made []string, path ...string) error {
	parent := d.at(path[:len(path)-1]...)
	i := len(parent.keys) - 1
	for parent.keys[i].name != path[len(path)-1] {
		i--
	}
	if err := d.remove(parent, i); err != nil {
		return err
	}
	return d.prune(made, path[:len(path)-1]...)
}

// prune removes the container at path if it is empty and was made.
func (d *jsonDoc) prune(made []string, path ...string) error {
	n := d.at(path...)
	if len(path) == 0 || n == nil || len(n.items) > 0 || !slices.Contains(made, joinPath(path)) ||
		len(bytes.TrimSpace(d.data[n.start+1:n.end-1])) > 0 {
		return nil
	}
	return d.drop(made, path...)
}

// conflict is an error about a value that somebody else put where ours belongs.
func (d *jsonDoc) conflict(n *node, what string) error {
	err := placed(d.path, d.data, &malformed{n.start, what})
	var m *mail.Error
	if errors.As(err, &m) {
		m.Kind, m.Hint = mail.KindConflict, "rename or remove it, then run the command again; nothing was written"
	}
	return err
}

// jsonWriter writes values in a file's own manner.
type jsonWriter struct {
	b    strings.Builder
	nl   string // "": everything is on one line, without spaces
	unit string
	flat bool
}

func (w *jsonWriter) member(key string, value any, named bool, indent string) {
	if named {
		w.quoted(key)
		w.b.WriteByte(':')
		w.space()
	}
	w.value(value, indent)
}

func (w *jsonWriter) space() {
	if w.nl != "" {
		w.b.WriteByte(' ')
	}
}

func (w *jsonWriter) value(v any, indent string) {
	switch v := v.(type) {
	case raw:
		w.b.WriteString(string(v))
	case string:
		w.quoted(v)
	case int:
		w.b.WriteString(strconv.Itoa(v))
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case obj:
		w.list('{', len(v), indent, func(i int, in string) { w.member(v[i].key, v[i].value, true, in) })
	case []any:
		w.list('[', len(v), indent, func(i int, in string) { w.value(v[i], in) })
	}
}

func (w *jsonWriter) list(open byte, n int, indent string, item func(i int, indent string)) {
	w.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.b.WriteByte(',')
		}
		switch {
		case !w.flat:
			w.b.WriteString(w.nl + indent + w.unit)
		case i > 0:
			w.space()
		}
		item(i, indent+w.unit)
	}
	if n > 0 && !w.flat {
		w.b.WriteString(w.nl + indent)
	}
	w.b.WriteByte(open + 2)
}

// quoted writes a string, with characters outside of ASCII as they are.
func (w *jsonWriter) quoted(s string) {
	w.b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case r < ' ':
			w.b.WriteString(`\u00`)
			w.b.WriteString(strconv.FormatInt(int64(r)+0x100, 16)[1:])
		case r == utf8.RuneError:
			w.b.WriteString(`\ufffd`)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}
