package mail

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Parse reads a stamped message (docs/spool-format.md §4). It is strict: every
// field of the schema has its type and form, required ones are there, nothing
// stands twice. What it returns, Encode can write. Unknown fields are in Extra.
//
// The error is KindInvalid or KindTooLarge, or KindForeign for a newer schema;
// it names field, line, column and what to do. Incomplete tells whether the
// file may still be being written.
func Parse(data []byte) (*Message, error) {
	d := &document{op: "read message", scanner: scanner{data: data}}
	if err := sized(d.op, len(data)); err != nil {
		return nil, err
	}
	if f := d.scan(); f != nil {
		return nil, d.fail(f)
	}
	for _, f := range [...]field{
		fSchema, fID, fConversation, fFrom, fTo, fAct, fSubject, fBody, fHops, fRequiresReply, fCreatedAt,
	} {
		if !d.fields[f].present {
			return nil, d.missing(f)
		}
	}
	m := &Message{Extra: d.unknown()}
	for f := range numFields {
		v := d.fields[f]
		if !v.present {
			continue
		}
		if fault := d.stamped(m, f, v); fault != nil {
			return nil, d.fail(wrong(f, fault))
		}
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, nil
}

// stamped decodes one field of a stamped message.
func (d *document) stamped(m *Message, name field, v value) (f *fault) {
	switch name {
	case fSchema:
		return d.schema(v, &m.Schema)
	case fID:
		f = d.id(v, &m.ID)
	case fConversation:
		m.Conversation, f = d.text(v)
	case fInReplyTo:
		if !d.isNull(v) {
			f = d.id(v, &m.InReplyTo)
		}
	case fFrom:
		m.From, f = d.text(v)
	case fTo:
		m.To, f = d.text(v)
	case fCC:
		m.CC, f = d.texts(v)
	case fAct:
		var act string
		act, f = d.text(v)
		m.Act = Act(act)
	case fSubject:
		m.Subject, f = d.text(v)
	case fBody:
		m.Body, f = d.text(v)
	case fHops:
		m.Hops, f = d.number31(v)
	case fRequiresReply:
		m.RequiresReply, f = d.boolean(v)
	case fNeedsHuman:
		m.NeedsHuman, f = d.boolean(v)
	default:
		return d.stampedTail(m, name, v)
	}
	return f
}

func (d *document) stampedTail(m *Message, name field, v value) (f *fault) {
	switch name {
	case fDeadline:
		if !d.isNull(v) {
			f = d.time(v, &m.Deadline)
		}
	case fCreatedAt:
		f = d.time(v, &m.CreatedAt)
	case fOffice:
		m.Office, f = d.text(v)
	case fStation:
		m.Station, f = d.text(v)
	case fSentWith:
		m.SentWith, f = d.text(v)
	case fEnvelope:
		m.Envelope = new(Envelope)
		f = d.envelope(v, m.Envelope)
	}
	return f
}

func (d *document) schema(v value, to *int) *fault {
	n, f := d.number31(v)
	switch {
	case f != nil:
		return f
	case n > Schema:
		f = faultAt(v.start, "update post", "schema %d is newer than this version knows", n)
		f.kind = KindForeign
		return f
	case n < 1:
		return faultAt(v.start, "write 1", "schema %d does not exist", n)
	}
	*to = n
	return nil
}

// id decodes an id; "" stands for null where that is allowed.
func (d *document) id(v value, to *ID) *fault {
	s, f := d.text(v)
	if f != nil {
		return f
	}
	if !ID(s).Valid() {
		return faultAt(v.start, "write the whole id of the message", "%s is no message id", quoteShort(s))
	}
	*to = ID(s)
	return nil
}

func (d *document) time(v value, to *time.Time) *fault {
	s, f := d.text(v)
	if f != nil {
		return f
	}
	t, err := time.Parse(timeLayout, s)
	if err != nil || t.Format(timeLayout) != s {
		return faultAt(v.start, "write UTC with milliseconds, such as "+timeLayout, "%s is no time", quoteShort(s))
	}
	*to = t
	return nil
}

func (d *document) envelope(v value, e *Envelope) *fault {
	s := scanner{data: d.data, pos: v.start}
	if s.data[s.pos] != '{' {
		return d.wrongType(v, "an object")
	}
	seen := make(map[string]bool)
	return s.object(0, func(key string, at int, v value) (f *fault) {
		if seen[key] {
			return faultAt(at, "", "%s stands twice", quoteShort(key))
		}
		seen[key] = true
		switch key {
		case "recipients":
			e.Recipients, f = d.texts(v)
		case "cc":
			e.CC, f = d.texts(v)
		case "turns":
			e.Turns, f = d.number31(v)
		case "key":
			e.Key, f = d.text(v)
		case "again":
			e.Again, f = d.boolean(v)
		case "origin":
			e.Origin = new(Origin)
			f = d.origin(v, e.Origin)
		case "claimed_id":
			e.ClaimedID, f = d.text(v)
		}
		return f
	})
}

func (d *document) origin(v value, o *Origin) *fault {
	s := scanner{data: d.data, pos: v.start}
	if s.data[s.pos] != '{' {
		return d.wrongType(v, "an object")
	}
	return s.object(0, func(key string, at int, v value) (f *fault) {
		switch key {
		case "name":
			o.Name, f = d.text(v)
		case "inode":
			o.Inode, f = d.number64(v)
		case "digest":
			var digest string
			digest, f = d.text(v)
			o.Digest = Digest(digest)
		}
		return f
	})
}

// Check says what would keep m from being written as a stamped message: Parse
// and Encode use the same rules. It does not judge whether the message is
// allowed; that is policy's.
func (m *Message) Check() error {
	bad := func(f field, hint, format string, args ...any) error {
		return &Error{Op: "check message", Kind: KindInvalid, ID: m.ID, Addr: f.String(),
			Err: fmt.Errorf(format, args...), Hint: hint}
	}
	switch {
	case m.Schema != Schema:
		return bad(fSchema, "", "is %d, not %d", m.Schema, Schema)
	case !m.ID.Valid():
		return bad(fID, "", "%s is no message id", quoteShort(string(m.ID)))
	case !ValidConversation(m.Conversation):
		return bad(fConversation, conversationHint, "%s is no conversation", quoteShort(m.Conversation))
	case m.InReplyTo != "" && !m.InReplyTo.Valid():
		return bad(fInReplyTo, "", "%s is no message id", quoteShort(string(m.InReplyTo)))
	case !m.Act.Known():
		return bad(fAct, actHint(string(m.Act)), "%s is no act", quoteShort(string(m.Act)))
	case m.Hops < 0 || m.Hops > 1<<31-1:
		return bad(fHops, "", "%d lies outside 0 to 2³¹−1", m.Hops)
	case CleanSubject(m.Subject) != m.Subject:
		return bad(fSubject, "write it on one line", "has line breaks or control characters")
	case !isStampTime(m.CreatedAt) || m.CreatedAt.IsZero():
		return bad(fCreatedAt, "", "is not a time of the years 1 to 9999")
	case !isStampTime(m.Deadline):
		return bad(fDeadline, "", "is not a time of the years 1 to 9999")
	}
	if _, err := ParseSender(m.From); err != nil {
		return inField(fFrom, err)
	}
	if _, err := ParseAddress(m.To); err != nil {
		return inField(fTo, err)
	}
	for _, cc := range m.CC {
		if _, err := ParseAddress(cc); err != nil {
			return inField(fCC, err)
		}
	}
	return m.checkText(bad)
}

func (m *Message) checkText(bad func(field, string, string, ...any) error) error {
	for _, t := range [...]struct {
		f    field
		text string
	}{
		{fSubject, m.Subject}, {fBody, m.Body}, {fOffice, m.Office}, {fStation, m.Station}, {fSentWith, m.SentWith},
	} {
		if !utf8.ValidString(t.text) {
			return bad(t.f, "write it as UTF-8", "is not UTF-8")
		}
	}
	if e := m.Envelope; e != nil {
		if e.Turns < 0 || e.Turns > 1<<31-1 {
			return bad(fEnvelope, "", "turns lies outside 0 to 2³¹−1")
		}
		texts := append(append([]string{e.Key, e.ClaimedID}, e.Recipients...), e.CC...)
		if e.Origin != nil {
			texts = append(texts, e.Origin.Name, string(e.Origin.Digest))
		}
		for _, t := range texts {
			if !utf8.ValidString(t) {
				return bad(fEnvelope, "", "%s is not UTF-8", quoteShort(t))
			}
		}
	}
	return nil
}

func isStampTime(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}

// inField says in which field of a message an address is wrong.
func inField(f field, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Op: "check message", Kind: e.Kind, Addr: f.String(), Hint: e.Hint,
		Err: fmt.Errorf("%s %w", e.Addr, e.Err)}
}

const conversationHint = "use letters, digits, dots, hyphens and underscores, at most 64"

func actHint(wrong string) string {
	var names []string
	for _, a := range Acts() {
		names = append(names, string(a))
	}
	if near := Suggest(wrong, names); len(near) > 0 {
		return fmt.Sprintf("did you mean %s? The acts are %s", near[0], strings.Join(names, ", "))
	}
	return "use one of " + strings.Join(names, ", ")
}
