package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// field ties a JSON key to the place of its value. The order of a fields
// list is the order in the file.
type field struct {
	key string
	ptr any // *string, *bool, *[]string or *time.Time
}

func (e *Entry) fields() []field {
	return []field{
		{"aid", &e.AID}, {"name", &e.Name}, {"archived", &e.Archived}, {"aliases", &e.Aliases},
		{"transcript", &e.Transcript}, {"station", &e.Station}, {"role", &e.Role}, {"inbox_path", &e.InboxPath},
		{"workspace", &e.Workspace}, {"runtime", &e.Runtime}, {"notify", &e.Notify},
		{"launch", &e.Launch}, {"joined", &e.Joined},
	}
}

func (c *Channel) fields() []field { return []field{{"name", &c.Name}, {"members", &c.Members}} }

func decodeEntry(raw []byte) (Entry, error) {
	var e Entry
	if !quick(raw, e.fields()) {
		e = Entry{}
		var err error
		if e.Extra, err = decodeFields(raw, e.fields()); err != nil {
			return e, err
		}
	}
	if e.Transcript == "" {
		e.Transcript = defaultTranscript(e.Name)
	}
	return e, nil
}

// appendEntry appends an agent's JSON; the usual transcript goes without
// saying.
func appendEntry(b []byte, e Entry) []byte {
	if e.Transcript == defaultTranscript(e.Name) {
		e.Transcript = ""
	}
	return appendObject(b, e.fields(), e.Extra)
}

func decodeChannel(raw []byte) (c Channel, err error) {
	c.Extra, err = decodeFields(raw, c.fields())
	return c, err
}

// decodeFields fills fields from one JSON object and returns the others.
func decodeFields(raw []byte, fields []field) (map[string]json.RawMessage, error) {
	var extra map[string]json.RawMessage
	err := eachField(raw, func(key string, value json.RawMessage) error {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if i >= 0 {
			if err := json.Unmarshal(value, fields[i].ptr); err != nil {
				return fmt.Errorf("%q: %w", key, err)
			}
			return nil
		}
		if extra == nil {
			extra = map[string]json.RawMessage{}
		}
		extra[key] = value
		return nil
	})
	return extra, err
}

// eachField walks one JSON object. Keys are compared exactly, and a key that
// stands twice is an error: which of the two was meant is nobody's to guess.
func eachField(raw []byte, fn func(string, json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("not a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		key := t.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("%q stands twice", key)
		}
		seen[key] = true
		if err := fn(key, value); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// encode writes d in the canonical layout, checksum included.
func encode(d *document) []byte {
	b := []byte(head)
	for i, e := range d.agents {
		b = endLine(appendEntry(b, e), i == len(d.agents)-1)
	}
	b = append(b, channelHead...)
	for i, c := range d.channels {
		b = endLine(appendObject(b, c.fields(), c.Extra), i == len(d.channels)-1)
	}
	b = append(b, "],\n"...)
	if len(d.retired) > 0 {
		b = append(appendValue(append(b, `"retired":`...), &d.retired), ",\n"...)
	}
	for _, k := range slices.Sorted(maps.Keys(d.extra)) {
		b = appendRaw(append(appendString(b, k), ':'), d.extra[k])
		b = append(b, ",\n"...)
	}
	return appendCRC(b, checksum(b))
}

func endLine(b []byte, last bool) []byte {
	if last {
		return append(b, '\n')
	}
	return append(b, ",\n"...)
}

func appendObject(b []byte, fields []field, extra map[string]json.RawMessage) []byte {
	b = append(b, '{')
	for _, f := range fields {
		if zero(f.ptr) {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = appendValue(append(appendString(b, f.key), ':'), f.ptr)
	}
	for _, k := range slices.Sorted(maps.Keys(extra)) {
		b = appendRaw(append(appendString(append(b, ','), k), ':'), extra[k])
	}
	return append(b, '}')
}

func zero(ptr any) bool {
	switch p := ptr.(type) {
	case *string:
		return *p == ""
	case *bool:
		return !*p
	case *[]string:
		return len(*p) == 0
	case *time.Time:
		return p.IsZero()
	}
	return false
}

func appendValue(b []byte, ptr any) []byte {
	switch p := ptr.(type) {
	case *string:
		return appendString(b, *p)
	case *bool:
		return fmt.Append(b, *p)
	case *time.Time:
		return appendString(b, p.UTC().Format(time.RFC3339Nano))
	case *[]string:
		b = append(b, '[')
		for i, s := range *p {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, s)
		}
		return append(b, ']')
	}
	panic("registry: a field of no known type")
}

// appendString writes a JSON string; plain ones, which nearly all are, without
// a detour.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == 0x7f {
			quoted, _ := json.Marshal(s) // strings always marshal
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendRaw writes a kept value on one line, as the layout needs.
func appendRaw(b []byte, raw json.RawMessage) []byte {
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return append(b, "null"...)
	}
	return append(b, buf.Bytes()...)
}
