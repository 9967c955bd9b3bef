package mail

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Repair is one thing in a hand-written file that was put right because its
// meaning was certain, or that counts for nothing, to be told to the author.
type Repair struct {
	Field string // "" for the file as a whole
	What  string // a phrase: "escaped 2 raw control characters"
	Was   string // what stood there, where that matters ("from", "id"); else ""
}

func (r Repair) String() string {
	if r.Field == "" {
		return r.What
	}
	return r.Field + ": " + r.What
}

// ParseAuthored reads a hand-written message (design §4). Only the author's
// fields count: to, cc, act, subject, body, conversation, in_reply_to,
// needs_human, deadline, and id, which is set if it is well-formed and is a
// claim to be checked. All else of the schema is left zero for stamping. A
// deadline is in DeadlineText. A `from` is reported as a Repair with Was, so
// that one that is not the owner of the outbox can be made loud.
//
// What is wrong is repaired only where its meaning is certain. Errors are as
// for Parse.
func ParseAuthored(data []byte) (*Message, []Repair, error) {
	a := &author{document: document{op: "read message"}}
	if err := sized(a.op, len(data)); err != nil {
		return nil, nil, err
	}
	a.lenient = true
	if f := a.decodeText(data); f != nil {
		return nil, nil, a.fail(f)
	}
	if f := a.scan(); f != nil {
		return nil, nil, a.fail(f)
	}
	a.noteScan()
	for _, f := range [...]field{fTo, fBody} {
		if v := a.fields[f]; !v.present || a.isNull(v) {
			return nil, nil, a.missing(f)
		}
	}
	m := &Message{Act: Inform, Extra: a.unknown()}
	for f := range numFields {
		v := a.fields[f]
		if !v.present || a.isNull(v) {
			continue
		}
		if fault := a.authored(m, f, v); fault != nil {
			return nil, nil, a.fail(wrong(f, fault))
		}
	}
	return m, a.repairs, nil
}

// author is a hand-written document.
type author struct {
	document
	repairs []Repair
}

func (a *author) note(f field, format string, args ...any) {
	a.repairs = append(a.repairs, Repair{Field: f.String(), What: fmt.Sprintf(format, args...)})
}

func (a *author) noteFile(format string, args ...any) {
	a.repairs = append(a.repairs, Repair{What: fmt.Sprintf(format, args...)})
}

// decodeText sets the text to parse: without a byte order mark, and as UTF-8
// if the mark says that it is UTF-16 (as some shells write by default).
func (a *author) decodeText(data []byte) *fault {
	a.data = data
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		a.noteFile("took off a byte order mark")
		a.data = rest
		return nil
	}
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return nil
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	text := utf16.Decode(units)
	if len(data)%2 == 1 {
		return &fault{pos: len(data), what: errIncomplete, hint: "write the rest of the file"}
	}
	for i, r := range text {
		if r == utf8.RuneError {
			return faultAt(2*i, "save the file as UTF-8", "the UTF-16 text is broken")
		}
	}
	a.noteFile("read UTF-16 text")
	a.data = []byte(string(text))
	return nil
}

// noteScan notes what the scanner let pass.
func (a *author) noteScan() {
	if a.raw > 0 {
		a.noteFile("escaped raw line breaks or control characters in strings: %d", a.raw)
	}
	if a.commas > 0 {
		a.noteFile("took off commas behind the last element: %d", a.commas)
	}
	for _, key := range a.cased {
		a.noteFile("read %s as %s", quoteShort(key), strings.ToLower(key))
	}
	for _, key := range a.same {
		a.noteFile("%s stands twice with the same value", quoteShort(key))
	}
}

// authored decodes one field of a hand-written message; v is not null.
func (a *author) authored(m *Message, name field, v value) (f *fault) {
	switch name {
	case fSchema:
		if n, f := a.number31(v); f == nil && n > Schema {
			return faultAt(v.start, "write for schema 1", "schema %d is newer than this version knows", n)
		}
	case fID, fFrom:
		a.claim(m, name, v)
	case fTo:
		return a.to(m, v)
	case fCC:
		return a.cc(m, v)
	case fAct:
		return a.act(m, v)
	case fSubject:
		var s string
		if s, f = a.text(v); f == nil {
			if m.Subject = CleanSubject(s); m.Subject != s {
				a.note(name, "put on one line, without control characters")
			}
		}
	case fBody:
		m.Body, f = a.text(v)
	case fConversation:
		return a.conversation(m, v)
	case fInReplyTo:
		return a.inReplyTo(m, v)
	case fNeedsHuman:
		m.NeedsHuman, f = a.boolean(v)
	case fDeadline:
		return a.deadline(m, v)
	}
	return f
}

// claim keeps what an author says who he is and which id he wants.
func (a *author) claim(m *Message, name field, v value) {
	s, f := a.text(v)
	switch {
	case f != nil:
		a.note(name, "counts for nothing")
	case name == fID && ID(s).Valid():
		m.ID = ID(s)
	case s != "":
		a.note(name, "counts for nothing")
		a.repairs[len(a.repairs)-1].Was = s
	}
}

func (a *author) to(m *Message, v value) *fault {
	list, f := a.list(fTo, v, "a list of one")
	if f != nil {
		return f
	}
	if len(list) != 1 {
		return faultAt(v.start, "write one file for each recipient, or name a channel",
			"names %d recipients, where one message has one", len(list))
	}
	m.To = list[0]
	return a.address(m.To, v)
}

func (a *author) cc(m *Message, v value) *fault {
	list, f := a.list(fCC, v, "")
	if f != nil {
		return f
	}
	if a.data[v.start] == '"' {
		parts := strings.Split(list[0], ",")
		list = list[:0]
		for _, p := range parts {
			if p = strings.TrimSpace(p); p != "" {
				list = append(list, p)
			}
		}
		a.note(fCC, "read text as a list")
	}
	for _, s := range list {
		if f := a.address(s, v); f != nil {
			return f
		}
	}
	if len(list) > 0 {
		m.CC = list
	}
	return nil
}

// list decodes a string or a list of strings, each without the white space
// around it. ofOne, if not "", is what to note when it was a list.
func (a *author) list(name field, v value, ofOne string) ([]string, *fault) {
	var list []string
	var f *fault
	if a.data[v.start] == '[' {
		list, f = a.texts(v)
		if f == nil && len(list) == 1 && ofOne != "" {
			a.note(name, "was %s", ofOne)
		}
	} else {
		var s string
		s, f = a.text(v)
		list = []string{s}
	}
	for i, s := range list {
		if list[i] = strings.TrimSpace(s); list[i] != s {
			a.note(name, "took off white space")
		}
	}
	return list, f
}

func (a *author) address(s string, v value) *fault {
	_, err := ParseAddress(s)
	if err == nil {
		return nil
	}
	f := &fault{pos: v.start, what: err}
	if e, ok := errors.AsType[*Error](err); ok {
		f.hint, f.what = e.Hint, fmt.Errorf("%s %w", e.Addr, e.Err)
	}
	return f
}

func (a *author) act(m *Message, v value) *fault {
	s, f := a.text(v)
	if f != nil {
		return f
	}
	act := Act(strings.ToLower(strings.TrimSpace(s)))
	switch {
	case act == "":
		a.note(fAct, "was empty; read as inform")
		return nil
	case !act.Known():
		return faultAt(v.start, actHint(s), "%s is no act", quoteShort(s))
	case string(act) != s:
		a.note(fAct, "read %s as %s", quoteShort(s), act)
	}
	m.Act = act
	return nil
}

func (a *author) conversation(m *Message, v value) *fault {
	s, f := a.text(v)
	if f != nil {
		return f
	}
	if s != "" && !ValidConversation(s) {
		return faultAt(v.start, conversationHint, "%s is no conversation", quoteShort(s))
	}
	m.Conversation = s
	return nil
}

func (a *author) inReplyTo(m *Message, v value) *fault {
	if s, f := a.text(v); f == nil && s == "" {
		return nil
	}
	return a.id(v, &m.InReplyTo)
}

func (a *author) deadline(m *Message, v value) *fault {
	s, f := a.text(v)
	if f != nil {
		return f
	}
	if s = strings.TrimSpace(s); s == "" {
		return nil
	}
	if _, err := ResolveDeadline(s, time.Unix(0, 0)); err != nil {
		return faultAt(v.start, deadlineHint, "%s is no deadline", quoteShort(s))
	}
	m.DeadlineText = s
	return nil
}
