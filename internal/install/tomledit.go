package install

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// tomlDoc is a TOML file being edited. Every edit leaves it parsed.
type tomlDoc struct {
	path   string
	data   []byte
	tables []tomlTable
}

func openTOML(path string, data []byte) (*tomlDoc, error) {
	d := &tomlDoc{path: path, data: data}
	return d, d.parse()
}

func (d *tomlDoc) parse() (err error) {
	d.tables, err = parseTOML(d.data)
	return placed(d.path, d.data, err)
}

func (d *tomlDoc) splice(from, to int, text string) error {
	d.data = slices.Concat(d.data[:from], []byte(text), d.data[to:])
	return d.parse()
}

// value finds what stands at path, however it is written: under a header, with
// a dotted key or in an inline table.
func (d *tomlDoc) value(path ...string) (tomlValue, bool) {
	for _, t := range d.tables {
		if !t.list && len(t.name) < len(path) && slices.Equal(t.name, path[:len(t.name)]) {
			if v, ok := within(t.entries, path[len(t.name):]); ok {
				return v, true
			}
		}
	}
	return tomlValue{}, false
}

func within(entries []tomlEntry, path []string) (tomlValue, bool) {
	for _, e := range entries {
		if len(e.key) > len(path) || !slices.Equal(e.key, path[:len(e.key)]) {
			continue
		}
		if len(e.key) == len(path) {
			return e.value, true
		}
		if v, ok := within(e.value.entries, path[len(e.key):]); ok {
			return v, true
		}
	}
	return tomlValue{}, false
}

// under reports whether anything stands at path or below it, and where first.
func (d *tomlDoc) under(path ...string) (at int, ok bool) {
	for _, t := range d.tables {
		if len(t.name) >= len(path) && slices.Equal(t.name[:len(path)], path) {
			return t.start, true
		}
		for _, e := range t.entries {
			key := append(slices.Clone(t.name), e.key...)
			if len(key) >= len(path) && slices.Equal(key[:len(path)], path) {
				return e.start, true
			}
		}
	}
	if v, has := d.value(path...); has {
		return v.start, true
	}
	return 0, false
}

func (d *tomlDoc) newline() string {
	if i := bytes.IndexByte(d.data, '\n'); i > 0 && d.data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// appendTable puts a table at the end of the file, where it cannot take
// anybody's keys.
func (d *tomlDoc) appendTable(header string, lines ...string) error {
	nl := d.newline()
	text := strings.Join(append([]string{header}, lines...), nl) + nl
	switch {
	case len(bytes.TrimSpace(d.data)) == 0:
	case !bytes.HasSuffix(d.data, []byte("\n")):
		text = nl + nl + text
	case !bytes.HasSuffix(d.data, []byte(nl+nl)):
		text = nl + text
	}
	return d.splice(len(d.data), len(d.data), text)
}

// removeTable takes a table out, with the blank line before it. What is behind
// its last entry, such as a comment on the next table, stays.
func (d *tomlDoc) removeTable(i int) error {
	t := d.tables[i]
	from, to := t.start, t.end
	if n := bytes.IndexByte(d.data[to:], '\n'); n >= 0 {
		to += n + 1
	} else {
		to = len(d.data)
	}
	for _, nl := range []string{"\r\n\r\n", "\n\n"} {
		if bytes.HasSuffix(d.data[:from], []byte(nl)) {
			from -= len(nl) / 2
			break
		}
	}
	return d.splice(from, to, "")
}

// removeUnder takes out every table and entry at path or below it.
func (d *tomlDoc) removeUnder(path ...string) error {
	for i := len(d.tables) - 1; i >= 0; i-- {
		t := d.tables[i]
		if len(t.name) >= len(path) && slices.Equal(t.name[:len(path)], path) {
			if err := d.removeTable(i); err != nil {
				return err
			}
			continue
		}
		for k := len(t.entries) - 1; k >= 0; k-- {
			e := t.entries[k]
			key := append(slices.Clone(t.name), e.key...)
			switch {
			case len(key) >= len(path) && slices.Equal(key[:len(path)], path):
				to := e.end
				if n := bytes.IndexByte(d.data[to:], '\n'); n >= 0 {
					to += n + 1
				}
				if err := d.splice(lineStart(d.data, e.start), to, ""); err != nil {
					return err
				}
			case len(key) < len(path) && slices.Equal(key, path[:len(key)]):
				if err := d.removeInline(e.value, path[len(key):]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func lineStart(data []byte, pos int) int { return bytes.LastIndexByte(data[:pos], '\n') + 1 }

func (d *tomlDoc) removeInline(v tomlValue, path []string) error {
	for i := len(v.entries) - 1; i >= 0; i-- {
		e := v.entries[i]
		switch {
		case len(e.key) >= len(path) && slices.Equal(e.key[:len(path)], path):
			from, to := e.start, e.end
			switch {
			case i > 0:
				from = v.entries[i-1].end
			case len(v.entries) > 1:
				to = v.entries[1].start
			}
			return d.splice(from, to, "")
		case len(e.key) < len(path) && slices.Equal(e.key, path[:len(e.key)]):
			return d.removeInline(e.value, path[len(e.key):])
		}
	}
	return nil
}

// conflict is an error about what somebody else put where ours belongs.
func (d *tomlDoc) conflict(at int, what string) error {
	err := placed(d.path, d.data, &malformed{at, what})
	var m *mail.Error
	if errors.As(err, &m) {
		m.Kind, m.Hint = mail.KindConflict, "rename or remove it, then run the command again; nothing was written"
	}
	return err
}

// quoteTOML writes a basic string.
func quoteTOML(s string) string {
	w := jsonWriter{}
	w.quoted(s)
	return strings.ReplaceAll(w.b.String(), "\x7f", `\u007f`)
}
