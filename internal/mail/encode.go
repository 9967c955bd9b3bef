package mail

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Encode writes a stamped message: the fields in the order of
// docs/spool-format.md §4, then the envelope, then unknown fields by name; two
// spaces of indentation; a line feed at the end. The same message always gives
// the same bytes. What it writes, Parse reads.
//
// The error is KindInvalid (Check tells why) or KindTooLarge.
func (m *Message) Encode() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	data, err := m.append(make([]byte, 0, 1024+len(m.Body)+len(m.Body)/16))
	if err != nil {
		return nil, err
	}
	if err := sized("write message", len(data)); err != nil {
		return nil, err
	}
	return data, nil
}

// MarshalJSON is for showing a message (--json), so it does not insist on
// fields being filled, and makes text that is not UTF-8 so.
func (m *Message) MarshalJSON() ([]byte, error) {
	data, err := m.append(nil)
	return bytes.ToValidUTF8(data, []byte("\ufffd")), err
}

// UnmarshalJSON is Parse.
func (m *Message) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err == nil {
		*m = *parsed
	}
	return err
}

func (m *Message) append(b []byte) ([]byte, error) {
	str := func(f field, s string) {
		b = appendString(appendKey(b, f), s)
	}
	flag := func(f field, v bool) {
		b = strconv.AppendBool(appendKey(b, f), v)
	}
	b = append(b, '{')
	b = appendInt(appendKey(b, fSchema), m.Schema)
	str(fID, string(m.ID))
	str(fConversation, m.Conversation)
	if m.InReplyTo == "" {
		b = append(appendKey(b, fInReplyTo), "null"...)
	} else {
		str(fInReplyTo, string(m.InReplyTo))
	}
	str(fFrom, m.From)
	str(fTo, m.To)
	b = appendStrings(appendKey(b, fCC), m.CC)
	str(fAct, string(m.Act))
	str(fSubject, m.Subject)
	str(fBody, m.Body)
	b = appendInt(appendKey(b, fHops), m.Hops)
	flag(fRequiresReply, m.RequiresReply)
	flag(fNeedsHuman, m.NeedsHuman)
	if m.Deadline.IsZero() {
		b = append(appendKey(b, fDeadline), "null"...)
	} else {
		b = appendTime(appendKey(b, fDeadline), m.Deadline)
	}
	b = appendTime(appendKey(b, fCreatedAt), m.CreatedAt)
	str(fOffice, m.Office)
	str(fStation, m.Station)
	str(fSentWith, m.SentWith)
	if m.Envelope != nil {
		b = m.Envelope.append(appendKey(b, fEnvelope))
	}
	b, err := appendExtra(b, m.Extra)
	if err != nil {
		return nil, err
	}
	return append(b, "\n}\n"...), nil
}

// appendKey begins the next member of a message.
func appendKey(b []byte, f field) []byte {
	if f != fSchema {
		b = append(b, ',')
	}
	b = append(b, "\n  \""...)
	b = append(b, f.String()...)
	return append(b, `": `...)
}

func (e *Envelope) append(b []byte) []byte {
	b = appendStrings(append(b, "{\n    \"recipients\": "...), e.Recipients)
	if len(e.CC) > 0 {
		b = appendStrings(append(b, ",\n    \"cc\": "...), e.CC)
	}
	if e.Turns > 0 {
		b = appendInt(append(b, ",\n    \"turns\": "...), e.Turns)
	}
	if e.Key != "" {
		b = appendString(append(b, ",\n    \"key\": "...), e.Key)
	}
	if e.Again {
		b = append(b, ",\n    \"again\": true"...)
	}
	if o := e.Origin; o != nil {
		b = appendString(append(b, ",\n    \"origin\": {\"name\": "...), o.Name)
		b = strconv.AppendUint(append(b, `, "inode": `...), o.Inode, 10)
		b = appendString(append(b, `, "digest": `...), string(o.Digest))
		b = append(b, '}')
	}
	if e.ClaimedID != "" {
		b = appendString(append(b, ",\n    \"claimed_id\": "...), e.ClaimedID)
	}
	return append(b, "\n  }"...)
}

// appendExtra appends the fields this version does not know, byte for byte.
func appendExtra(b []byte, extra map[string]json.RawMessage) ([]byte, error) {
	for _, key := range sortedKeys(extra) {
		if err := checkExtra(key, extra[key]); err != nil {
			return nil, err
		}
		b = appendString(append(b, ",\n  "...), key)
		b = append(append(b, ": "...), extra[key]...)
	}
	return b, nil
}

func checkExtra(key string, raw json.RawMessage) error {
	bad := func(format string, args ...any) error {
		return &Error{Op: "write message", Kind: KindInvalid, Addr: quoteShort(key), Err: fmt.Errorf(format, args...)}
	}
	if _, known := fieldNamed(key); known {
		return bad("is a field of the schema, not an unknown one")
	}
	if validText(key) != key {
		return bad("is not UTF-8")
	}
	if f := checkText(raw); f != nil {
		return bad("%w", f.what)
	}
	s := &scanner{data: raw}
	if f := s.skip(0); f != nil {
		return bad("%w", f.what)
	}
	if s.pos < len(raw) {
		return bad("is more than one value")
	}
	return nil
}
