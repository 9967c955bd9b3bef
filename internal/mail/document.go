package mail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// field numbers the fields of schema 1 in the order of docs/spool-format.md §4.
type field int

const (
	fSchema field = iota
	fID
	fConversation
	fInReplyTo
	fFrom
	fTo
	fCC
	fAct
	fSubject
	fBody
	fHops
	fRequiresReply
	fNeedsHuman
	fDeadline
	fCreatedAt
	fOffice
	fStation
	fSentWith
	fEnvelope
	numFields
)

// String returns the field's name in the file.
func (f field) String() string {
	switch f {
	case fSchema:
		return "schema"
	case fID:
		return "id"
	case fConversation:
		return "conversation"
	case fInReplyTo:
		return "in_reply_to"
	case fFrom:
		return "from"
	case fTo:
		return "to"
	case fCC:
		return "cc"
	case fAct:
		return "act"
	case fSubject:
		return "subject"
	case fBody:
		return "body"
	case fHops:
		return "hops"
	case fRequiresReply:
		return "requires_reply"
	case fNeedsHuman:
		return "needs_human"
	case fDeadline:
		return "deadline"
	case fCreatedAt:
		return "created_at"
	case fOffice:
		return "office"
	case fStation:
		return "station"
	case fSentWith:
		return "sent_with"
	case fEnvelope:
		return "envelope"
	}
	return ""
}

// fieldNamed returns the field with this very name.
func fieldNamed(key string) (field, bool) {
	for f := range numFields {
		if f.String() == key {
			return f, true
		}
	}
	return 0, false
}

// attachments is reserved: only an empty list is accepted (design §4).
const attachments = "attachments"

// document is a message file of which it is known where each field stands.
type document struct {
	scanner
	op     string
	fields [numFields]value
	extra  map[string]value
	same   []string // fields given twice with the same value
	cased  []string // fields written in another case
}

// maxExtra bounds the fields of a message that this version does not know.
const maxExtra = 1000

// scan finds the document's fields. In lenient mode an author's field may be
// written in another case and a field may be repeated with the same value.
func (d *document) scan() *fault {
	if f := checkText(d.data); f != nil {
		return f
	}
	switch d.space() {
	case '{':
	case 0:
		return &fault{what: fmt.Errorf("the file is empty: %w", errIncomplete), hint: "write the message into it"}
	case '[':
		return faultAt(d.pos, "write one object in each file", "a list, where one message should be")
	default:
		return d.expected("one JSON object, beginning with {")
	}
	if f := d.object(0, d.member); f != nil {
		return f
	}
	if d.space(); d.pos < len(d.data) {
		return faultAt(d.pos, "write one object and nothing else", "something follows the message")
	}
	return nil
}

func (d *document) member(key string, at int, v value) *fault {
	known, ok := fieldNamed(key)
	if !ok && d.lenient {
		if lower := strings.ToLower(key); lower != key {
			if known, ok = fieldNamed(lower); ok {
				d.cased = append(d.cased, key)
				key = lower
			}
		}
	}
	earlier := d.extra[key]
	if ok {
		earlier = d.fields[known]
	}
	switch {
	case earlier.present && d.lenient && bytes.Equal(d.bytes(earlier), d.bytes(v)):
		d.same = append(d.same, key)
		return nil
	case earlier.present:
		f := faultAt(at, "keep one of them", "stands twice")
		if f.key = key; !ok {
			f.key = quoteShort(key)
		}
		return f
	case ok:
		d.fields[known] = v
		return nil
	case len(d.extra) == maxExtra:
		return faultAt(at, "put them into the body", "more than %d fields", maxExtra)
	}
	if key == attachments && !d.isNull(v) && !d.isEmptyList(v) {
		f := faultAt(v.start, "name the files in the body", "messages carry no attachments")
		f.key = key
		return f
	}
	if d.extra == nil {
		d.extra = make(map[string]value)
	}
	d.extra[key] = v
	return nil
}

func (d *document) bytes(v value) []byte { return d.data[v.start:v.end] }

// unknown copies the fields this version does not know, to be written back
// untouched. Raw control characters in their strings, which no JSON may hold,
// are escaped.
func (d *document) unknown() map[string]json.RawMessage {
	if len(d.extra) == 0 {
		return nil
	}
	extra := make(map[string]json.RawMessage, len(d.extra))
	for key, v := range d.extra {
		raw := bytes.Clone(d.bytes(v))
		if d.lenient {
			raw = strictJSON(raw)
		}
		extra[key] = raw
	}
	return extra
}

// strictJSON rewrites a value that a lenient scanner took as strict JSON.
func strictJSON(raw []byte) []byte {
	if s := (&scanner{data: raw}); s.skip(0) == nil {
		return raw
	}
	out := make([]byte, 0, len(raw)+16)
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\':
			out = append(out, c, raw[i+1])
			i++
			continue
		case quoted && c < ' ':
			s := appendString(nil, string(c))
			out = append(out, s[1:len(s)-1]...)
			continue
		case !quoted && c == ',':
			rest := bytes.TrimLeft(raw[i+1:], " \t\r\n")
			if rest[0] == ']' || rest[0] == '}' {
				continue
			}
		case c == '"':
			quoted = !quoted
		}
		out = append(out, c)
	}
	return out
}

// checkText refuses what no text file should hold.
func checkText(data []byte) *fault {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return &fault{pos: i, what: fmt.Errorf("a NUL byte: %w", errIncomplete), hint: "write the file again, as UTF-8"}
	}
	if utf8.Valid(data) {
		return nil
	}
	i := 0
	for r, size := rune(0), 0; r != utf8.RuneError || size != 1; i += size {
		r, size = utf8.DecodeRune(data[i:])
	}
	i--
	if !utf8.FullRune(data[i:]) {
		return &fault{pos: i, what: errIncomplete, hint: "write the rest of the file"}
	}
	return faultAt(i, "save the file as UTF-8", "byte %#02x is not UTF-8", data[i])
}

// fail turns a fault into the error that the caller gets.
func (d *document) fail(f *fault) error {
	if f == nil {
		return nil
	}
	line, column := position(d.data, f.pos)
	e := &Error{Op: d.op, Kind: f.kind, Addr: f.key, Hint: f.hint,
		Err: fmt.Errorf("line %d, column %d: %w", line, column, f.what)}
	if e.Kind == "" {
		e.Kind = KindInvalid
	}
	return e
}

// missing is the error for a field that must be there.
func (d *document) missing(f field) error {
	e := &Error{Op: d.op, Kind: KindInvalid, Addr: f.String(), Err: errors.New("missing"),
		Hint: fmt.Sprintf("add %q to the message", f)}
	for _, near := range nearNames(f) {
		if _, ok := d.extra[near]; ok {
			e.Hint = fmt.Sprintf("write %q instead of %q", f, near)
		}
	}
	return e
}

// nearNames lists what authors call a field by mistake.
func nearNames(f field) []string {
	switch f {
	case fTo:
		return []string{"recipient", "recipients", "target"}
	case fBody:
		return []string{"message", "text", "content", "msg"}
	}
	return nil
}

// wrong names the field of a fault.
func wrong(name field, f *fault) *fault {
	if f != nil && f.key == "" {
		f.key = name.String()
	}
	return f
}

// sized refuses what is over the size cap.
func sized(op string, n int) error {
	if n <= MaxSize {
		return nil
	}
	return &Error{Op: op, Kind: KindTooLarge,
		Err:  fmt.Errorf("%d bytes, where %d are allowed", n, MaxSize),
		Hint: "put the text into a file of the workspace and send its path"}
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
