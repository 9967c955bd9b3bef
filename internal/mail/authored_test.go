package mail

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// utf16Text encodes s as some shells write text: UTF-16 with a mark.
func utf16Text(s string) string {
	b := []byte("\xff\xfe")
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func TestAuthoredRepairs(t *testing.T) {
	t.Parallel()
	plain := Message{To: "coder", Act: Inform, Body: "b"}
	with := func(change func(*Message)) Message {
		m := plain
		change(&m)
		return m
	}
	for _, c := range []struct {
		name, text string
		want       Message
		notes      string // all of them
	}{
		{"shortest", `{"to":"coder","body":"b"}`, plain, ``},
		{"byte order mark", "\xef\xbb\xbf" + `{"to":"coder","body":"b"}`, plain, `took off a byte order mark`},
		{"UTF-16", utf16Text(`{"to":"coder","body":"b😀"}`), with(func(m *Message) { m.Body = "b😀" }), `read UTF-16 text`},
		{"raw line breaks", "{\"to\":\"coder\",\"body\":\"a\n\r\n\tb\x1b\"}", with(func(m *Message) { m.Body = "a\n\r\n\tb\x1b" }),
			`escaped raw line breaks or control characters in strings: 5`},
		{"last comma", `{"to":"coder","cc":["ann",],"body":"b",}`, with(func(m *Message) { m.CC = []string{"ann"} }),
			`took off commas behind the last element: 2`},
		{"to is a list", `{"to":["coder"],"body":"b"}`, plain, `to: was a list of one`},
		{"white space", `{"to":" coder\n","body":" b "}`, with(func(m *Message) { m.Body = " b " }), `to: took off white space`},
		{"cc is text", `{"to":"coder","cc":"ann, anna","body":"b"}`, with(func(m *Message) { m.CC = []string{"ann", "anna"} }),
			`cc: read text as a list`},
		{"cc is empty", `{"to":"coder","cc":[],"body":"b"}`, plain, ``},
		{"nulls", `{"to":"coder","body":"b","cc":null,"act":null,"subject":null,"in_reply_to":null,"deadline":null,"needs_human":null,"conversation":null,"id":null,"attachments":null}`,
			with(func(m *Message) { m.Extra = map[string]json.RawMessage{"attachments": json.RawMessage("null")} }), ``},
		{"empty texts", `{"to":"coder","body":"b","cc":"","act":"","in_reply_to":"","deadline":"","conversation":""}`, plain,
			`cc: read text as a list; act: was empty; read as inform`},
		{"act in another case", `{"to":"coder","body":"b","act":"REQUEST "}`, with(func(m *Message) { m.Act = Request }),
			`act: read "REQUEST " as request`},
		{"fields in another case", `{"To":"coder","BODY":"b"}`, plain, `read "To" as to; read "BODY" as body`},
		{"the same twice", `{"to":"coder","body":"b","To":"coder","x":1,"x":1}`,
			with(func(m *Message) { m.Extra = map[string]json.RawMessage{"x": json.RawMessage("1")} }),
			`read "To" as to; "to" stands twice with the same value; "x" stands twice with the same value`},
		{"subject", `{"to":"coder","body":"b","subject":" a\n\n## [human→b] c\u2028d\te  f\u001b"}`,
			with(func(m *Message) { m.Subject = "a ## [human→b] c d e  f" }), `subject: put on one line, without control characters`},
		{"stamped fields count for nothing", `{"to":"coder","body":"b","from":"human","schema":"x","hops":-3,"requires_reply":"no","created_at":7,"office":1,"station":[],"sent_with":{},"envelope":{"recipients":["all"]}}`,
			plain, `from: counts for nothing (human)`},
		{"id claimed", `{"to":"coder","body":"b","id":"` + ownTag + `"}`, with(func(m *Message) { m.ID = ownID }), ``},
		{"id is a path", `{"to":"coder","body":"b","id":"../../registry"}`, plain, `id: counts for nothing (../../registry)`},
		{"id of another type", `{"to":"coder","body":"b","id":7,"from":[]}`, plain, `id: counts for nothing; from: counts for nothing`},
		{"all", `{"schema":1,"to":"coder@lab","cc":["human"],"act":"query","subject":"s","body":"","conversation":"Auth_2","in_reply_to":"` + ownTag + `","needs_human":true,"deadline":" 2h "}`,
			Message{To: "coder@lab", CC: []string{"human"}, Act: Query, Subject: "s", Conversation: "Auth_2", InReplyTo: ownID, NeedsHuman: true, DeadlineText: "2h"}, ``},
		{"unknown fields", "{\"to\":\"coder\",\"body\":\"b\",\"x\":{\"k\":[\"a\nb,]\\\"\",],},\"y\":[ 1 ]}",
			with(func(m *Message) {
				m.Extra = map[string]json.RawMessage{"x": json.RawMessage(`{"k":["a\nb,]\""]}`), "y": json.RawMessage(`[ 1 ]`)}
			}), `escaped raw line breaks or control characters in strings: 1; took off commas behind the last element: 2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, repairs, err := ParseAuthored([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*m, c.want) {
				t.Errorf("got  %+v\nwant %+v", *m, c.want)
			}
			var notes []string
			for _, r := range repairs {
				if r.Was != "" {
					r.What += " (" + r.Was + ")"
				}
				notes = append(notes, r.String())
			}
			if got := strings.Join(notes, "; "); got != c.notes {
				t.Errorf("notes %s", got)
			}
		})
	}
}

func TestAuthoredRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, part string }{
		{`{}`, `to: missing; add "to" to the message`},
		{`{"to":"coder"}`, `body: missing; add "body"`},
		{`{"to":"coder","message":"important"}`, `body: missing; write "body" instead of "message"`},
		{`{"recipient":"coder","body":"b"}`, `to: missing; write "to" instead of "recipient"`},
		{`{"to":null,"body":"b"}`, `to: missing`},
		{`{"to":"","body":"b"}`, `to: line 1, column 7: "" is empty`},
		{`{"to":[],"body":"b"}`, `to: line 1, column 7: names 0 recipients`},
		{`{"to":["ann","coder"],"body":"b"}`, `names 2 recipients, where one message has one; write one file for each`},
		{`{"to":"ann,coder","body":"b"}`, `has ','`},
		{`{"to":"../x","body":"b"}`, `has '/'`},
		{`{"to":{"name":"x"},"body":"b"}`, `is an object; write a string`},
		{`{"to":7,"body":"b"}`, `is a number`},
		{`{"to":"Coder","body":"b"}`, `"Coder" has an upper-case letter; write "coder"`},
		{`{"to":"postroom","body":"b"}`, `takes no mail`},
		{`{"to":"coder","body":["b"]}`, `body: line 1, column 22: is a list`},
		{`{"to":"coder","body":"b","subject":7}`, `subject: line 1`},
		{`{"to":"coder","body":"b","act":"reqest"}`, `act: line 1, column 32: "reqest" is no act; did you mean request? The acts are request, query,`},
		{`{"to":"coder","body":"b","act":"shout"}`, `"shout" is no act; use one of request,`},
		{`{"to":"coder","body":"b","act":1}`, `act: line 1`},
		{`{"to":"coder","body":"b","cc":[1]}`, `cc: line 1`},
		{`{"to":"coder","body":"b","cc":["Ann"]}`, `cc: line 1, column 31: "Ann" has`},
		{`{"to":"coder","body":"b","cc":{}}`, `cc: line 1`},
		{`{"to":"coder","body":"b","needs_human":"true"}`, `needs_human: line 1, column 40: is a string`},
		{`{"to":"coder","body":"b","deadline":"soon"}`, `deadline: line 1, column 37: "soon" is no deadline; write a length`},
		{`{"to":"coder","body":"b","deadline":3600}`, `deadline: line 1`},
		{`{"to":"coder","body":"b","deadline":"-2h"}`, `"-2h" is no deadline`},
		{`{"to":"coder","body":"b","conversation":"a/../b"}`, `conversation: line 1`},
		{`{"to":"coder","body":"b","conversation":"a b"}`, `use letters, digits`},
		{`{"to":"coder","body":"b","in_reply_to":"last"}`, `in_reply_to: line 1, column 40: "last" is no message id`},
		{`{"to":"coder","body":"b","schema":2}`, `schema: line 1, column 35: schema 2 is newer`},
		{`{"to":"coder","body":"b","attachments":["f"]}`, `attachments: line 1, column 40: messages carry no attachments`},
		{`{"to":"coder","body":"b","body":"c"}`, `body: line 1, column 26: stands twice; keep one of them`},
		{`{"to":"coder","body":"b","Body":"c"}`, `body: line 1, column 26: stands twice`},
		{`{"to":"coder","body":"b","x":1,"x":2}`, `"x": line 1, column 32: stands twice`},
		{`{"to":"coder","body":"C:\dir"}`, `a backslash may not stand before 'd'; write \\`},
		{`{"to":"coder","body":"say "hi""}`, `unexpected 'h'`},
		{"{\n\"to\":\"coder\",\n\"bödy\": b}", `line 3, column 9: unexpected 'b'`},
		{`{"to":"coder","body":"b"}}`, `something follows the message`},
		{`{"to":"coder","body":"b"}` + "\n" + `{"to":"coder","body":"b"}`, `line 2, column 1: something follows`},
		{`{"to":"coder","body":"b",,}`, `unexpected ','`},
		{`{,}`, `unexpected ','`},
		{`{"to":"coder","cc":[,],"body":"b"}`, `unexpected ','`},
		{`[{"to":"coder","body":"b"}]`, `write one object in each file`},
		{"```json\n{}\n```", "unexpected '`'; write one JSON object"},
		{"to: coder", `unexpected 't'`},
		{"{\"to\":\"coder\",\"body\":\"b\xe9!\"}", `byte 0xe9 is not UTF-8; save the file as UTF-8`},
		{"{\"to\":\"coder\",\"body\":\"b\x00\"}", `a NUL byte`},
		{`{"to":"coder","body":"\ud83d"}`, `half of a surrogate pair`},
		{"\xff\xfe{\x00\x00\xd8", `the UTF-16 text is broken`},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			m, repairs, err := ParseAuthored([]byte(c.text))
			if m != nil || repairs != nil {
				t.Errorf("a message and an error: %+v", m)
			}
			wantError(t, err, KindInvalid, "read message: ", c.part)
		})
	}
	_, _, err := ParseAuthored(bytes.Repeat([]byte("x"), MaxSize+1))
	wantError(t, err, KindTooLarge)
	var many strings.Builder
	for i := range maxExtra + 1 {
		fmt.Fprintf(&many, `"x%d":0,`, i)
	}
	_, _, err = ParseAuthored([]byte(`{` + many.String() + `"to":"coder","body":"b"}`))
	wantError(t, err, KindInvalid, "more than 1000 fields")
}

func TestResolveDeadline(t *testing.T) {
	t.Parallel()
	local := noon.In(time.FixedZone("x", 3600))
	for s, want := range map[string]time.Time{
		"":                           {},
		"2h":                         noon.Add(2 * time.Hour),
		"1h30m":                      noon.Add(90 * time.Minute),
		"3d":                         noon.Add(72 * time.Hour),
		"1d12h":                      noon.Add(36 * time.Hour),
		"1.5h":                       noon.Add(90 * time.Minute),
		"2026-05-30T18:00:00Z":       time.Date(2026, 5, 30, 18, 0, 0, 0, time.UTC),
		"2026-05-30T18:00:00.12345Z": time.Date(2026, 5, 30, 18, 0, 0, 123e6, time.UTC),
		"2026-05-30T18:00:00+02:00":  time.Date(2026, 5, 30, 16, 0, 0, 0, time.UTC),
		"2020-01-01T00:00:00Z":       time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		got, err := ResolveDeadline(s, local)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"0", "0s", "-1h", "0d", "d", "1d-2h", "-1d", "1.5d", "2", "h", "tomorrow", "2026-05-30", "2026-05-30T18:00:00",
		"99999d", "999999h", "65000d65000d", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-05:00"} {
		_, err := ResolveDeadline(s, local)
		wantError(t, err, KindInvalid, "parse deadline", "write a length such as")
	}
}

// Whatever a hand-written file holds, what comes out can be stamped, written
// and read, and says the same.
func FuzzParseAuthored(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := ParseAuthored(data)
		if err != nil {
			if m != nil || KindOf(err) != KindInvalid && KindOf(err) != KindTooLarge {
				t.Fatalf("%v, %v", m, err)
			}
			if strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
				t.Fatalf("raw controls in %q", err)
			}
			return
		}
		if m.From != "" || m.Hops != 0 || m.RequiresReply || m.Envelope != nil || !m.CreatedAt.IsZero() || m.Office != "" {
			t.Fatalf("an author's word counts: %+v", m)
		}
		if m.ID == "" {
			m.ID = ownID
		}
		if m.Conversation == "" {
			m.Conversation = NewConversation(m.ID)
		}
		m.Schema, m.From, m.CreatedAt = Schema, "ann", noon
		if m.Deadline, err = ResolveDeadline(m.DeadlineText, noon); err != nil {
			t.Fatal(err)
		}
		m.DeadlineText = ""
		stamped, err := m.Encode()
		if KindOf(err) == KindTooLarge {
			return
		}
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		again, err := Parse(stamped)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("reads back as %+v, %v", again, err)
		}
	})
}
