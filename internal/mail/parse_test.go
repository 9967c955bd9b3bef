package mail

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEncodeGolden(t *testing.T) {
	t.Parallel()
	want := `{
  "schema": 1,
  "id": "2026-05-30T12-00-00-123Z-0000-b1b2c3d4",
  "conversation": "conv-7f3a91",
  "in_reply_to": "2026-05-30T11-03-11-123Z-0004-a1b2c3d4",
  "from": "researcher",
  "to": "coder",
  "cc": ["ann", "human"],
  "act": "request",
  "subject": "Review the <retry> loop",
  "body": "Zeile 1\n\t\"zwei\" \\ ü\n",
  "hops": 3,
  "requires_reply": true,
  "needs_human": true,
  "deadline": "2026-05-30T13:00:00.123Z",
  "created_at": "2026-05-30T12:00:00.123Z",
  "office": "o-1",
  "station": "lab",
  "sent_with": "post 0.1.0",
  "envelope": {
    "recipients": ["aid-1"],
    "cc": ["aid-2"],
    "turns": 4,
    "key": "k",
    "again": true,
    "origin": {"name": "note.json", "inode": 18446744073709551615, "digest": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},
    "claimed_id": "mine"
  },
  "a": 12345678901234567890,
  "b": {"x": [1, 2.50]}
}
`
	m := sample()
	data := encoded(t, m)
	if string(data) != want {
		t.Errorf("got\n%s", data)
	}
	again, err := Parse(data)
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("reads back as %+v, %v", again, err)
	}
	if !json.Valid(data) {
		t.Error("no JSON")
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for field, spoil := range map[string]func(*Message){
		"schema":             func(m *Message) { m.Schema = 2 },
		"id":                 func(m *Message) { m.ID = "../registry" },
		"conversation":       func(m *Message) { m.Conversation = "a b" },
		"in_reply_to":        func(m *Message) { m.InReplyTo = "last" },
		"from":               func(m *Message) { m.From = "all" },
		"to":                 func(m *Message) { m.To = "Coder" },
		"cc":                 func(m *Message) { m.CC = []string{"ann", ""} },
		"act":                func(m *Message) { m.Act = "Request" },
		"subject":            func(m *Message) { m.Subject = "x\n## [a→b]" },
		"body":               func(m *Message) { m.Body = "\xff" },
		"hops":               func(m *Message) { m.Hops = -1 },
		"created_at":         func(m *Message) { m.CreatedAt = time.Time{} },
		"deadline":           func(m *Message) { m.Deadline = time.Unix(1<<40, 0) },
		"office":             func(m *Message) { m.Office = "\xc2" },
		"sent_with":          func(m *Message) { m.SentWith = "\xff" },
		"envelope: turns":    func(m *Message) { m.Envelope.Turns = -1 },
		"envelope: \"\\xff":  func(m *Message) { m.Envelope.Recipients = []string{"\xff"} },
		`"to": is a field`:   func(m *Message) { m.Extra["to"] = json.RawMessage(`"x"`) },
		`"x": unexpected`:    func(m *Message) { m.Extra["x"] = json.RawMessage(`nope`) },
		`"x": is more than`:  func(m *Message) { m.Extra["x"] = json.RawMessage(`1, "to": "x"`) },
		`"x": the file ends`: func(m *Message) { m.Extra["x"] = nil },
		`"\xff": is not UTF`: func(m *Message) { m.Extra["\xff"] = json.RawMessage(`1`) },
	} {
		m := sample()
		spoil(m)
		_, err := m.Encode()
		wantError(t, err, KindInvalid, field)
	}
	m := sample()
	m.Body = strings.Repeat("x", MaxSize)
	_, err := m.Encode()
	wantError(t, err, KindTooLarge, "send its path")
}

// A stamped file is somebody's claim: what stamping never writes is refused.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good := string(encoded(t, sample()))
	for _, c := range []struct{ old, new, part string }{
		{`"schema": 1`, `"schema": "1"`, `schema: line 2, column 13: is a string`},
		{`"schema": 1`, `"schema": 1.0`, `schema: line 2`},
		{`"schema": 1`, `"schema": 0`, `schema 0 does not exist`},
		{ownTag, "../../registry", `is no message id`},
		{`"in_reply_to": "2026`, `"in_reply_to": "x2026`, `in_reply_to: line 5`},
		{`"in_reply_to": "2026-05-30T11-03-11-123Z-0004-a1b2c3d4"`, `"in_reply_to": ""`, `in_reply_to: line 5`},
		{`"from": "researcher"`, `"from": "Researcher"`, `from: "Researcher" has an upper-case`},
		{`"from": "researcher"`, `"from": null`, `from: line 6, column 11: is null`},
		{`"from": "researcher",`, ``, `from: missing`},
		{`"to": "coder"`, `"to": ["coder"]`, `to: line 7, column 9: is a list; write a string`},
		{`"to": "coder"`, `"to": "coder", "to": "ann"`, `to: line 7, column 18: stands twice`},
		{`"to": "coder"`, `"to": "coder", "to": "coder"`, `stands twice`},
		{`"to": "coder"`, `"To": "coder"`, `to: missing`},
		{`"cc": ["ann", "human"]`, `"cc": ["ann", 7]`, `cc: line 8, column 17: is a number`},
		{`"cc": ["ann", "human"]`, `"cc": "ann"`, `cc: line 8`},
		{`"act": "request"`, `"act": "Request"`, `act: "Request" is no act; did you mean request?`},
		{`Review the`, `Review\nthe`, `subject: has line breaks`},
		{`Review the`, `Review\u2028the`, `subject: has line breaks`},
		{`Review the`, "Review\nthe", `line 10, column 21: raw control character 0x0a`},
		{`Zeile`, `\q`, `a backslash may not stand before 'q'; write \\ for a backslash`},
		{`Zeile`, `\ud800`, `body: line 11, column 12: half of a surrogate pair`},
		{`Zeile`, `\udc00\ud800`, `half of a surrogate pair`},
		{`Zeile`, `\ud800\u0041`, `half of a surrogate pair`},
		{`Zeile`, `\u00g0`, `broken \u escape`},
		{`Zeile`, "Z\x00eile", `a NUL byte`},
		{`Zeile`, "Z\xffeile", `byte 0xff is not UTF-8; save the file as UTF-8`},
		{`"hops": 3`, `"hops": -3`, `hops: line 12`},
		{`"hops": 3`, `"hops": 03`, `unexpected '3'`},
		{`"hops": 3`, `"hops": 99999999999`, `hops: line 12`},
		{`"hops": 3`, `"hops": NaN`, `unexpected 'N'`},
		{`"requires_reply": true`, `"requires_reply": "true"`, `is a string; write true or false`},
		{`"needs_human": true`, `"needs_human": 1`, `needs_human: line 14`},
		{`12:00:00.123Z`, `12:00:00Z`, `created_at: line 16`},
		{`12:00:00.123Z`, `12:00:00,123Z`, `created_at: line 16`},
		{`12:00:00.123Z`, `12:00:00.123+02:00`, `created_at: line 16`},
		{`"2026-05-30T13:00:00.123Z"`, `"2h"`, `deadline: line 15`},
		{`"envelope": {`, `"envelope": [], "e": {`, `envelope: line 20, column 15: is a list`},
		{`"turns": 4`, `"turns": "4"`, `envelope: line 23`},
		{`"turns": 4`, `"turns": 4, "turns": 5`, `envelope: line 23, column 17: "turns" stands twice`},
		{`"origin": {`, `"origin": 1, "o": {`, `envelope: line 26`},
		{`"a": 1234`, `"attachments": [1234], "a": 1234`, `attachments: line 29, column 18: messages carry no attachments`},
		{`"a": 1234`, `"attachments": [[]], "a": 1234`, `attachments: line 29`},
		{`"a": 1234`, `"attachments": "f.txt", "a": 1234`, `attachments: line 29`},
		{`2.50`, `2.`, `this is no number`},
		{`2.50`, `tru`, `unexpected 't'`},
		{`[1, 2.50]`, strings.Repeat("[", 200) + strings.Repeat("]", 200), `nest deeper than 100`},
		{`[1, 2.50]`, `[1, 2.50,]`, `unexpected ']'; write a value`},
		{`[1, 2.50]}`, `[1, 2.50]},`, `unexpected '}'; write a field name in double quotes`},
		{`[1, 2.50]`, `[1 2.50]`, `unexpected '2'; write "," or "]"`},
		{`"hops": 3`, `"hops" 3`, `unexpected '3'; write ":"`},
		{`"hops": 3`, `hops: 3`, `unexpected 'h'; write a field name in double quotes`},
		{`"hops": 3`, `'hops': 3`, `unexpected '''; write a field name in double quotes`},
		{"{\n  \"schema\"", "\xef\xbb\xbf{\n  \"schema\"", `line 1, column 1: unexpected U+FEFF`},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%q is not there", c.old)
		}
		t.Run(c.new, func(t *testing.T) {
			_, err := Parse([]byte(text))
			wantError(t, err, KindInvalid, c.part)
		})
	}
	for text, part := range map[string]string{
		good + "x": `line 32, column 1: something follows`, good + good: `something follows`, "[" + good + "]": `a list`,
		`"x"`: `unexpected '"'`, `null`: `unexpected 'n'`, `7`: `unexpected '7'`,
	} {
		_, err := Parse([]byte(text))
		wantError(t, err, KindInvalid, part)
	}
	_, err := Parse(bytes.Repeat([]byte(" "), MaxSize+1))
	wantError(t, err, KindTooLarge, "1048577 bytes")
	_, err = Parse([]byte(strings.Replace(good, `"schema": 1`, `"schema": 2`, 1)))
	wantError(t, err, KindForeign, "update post")
}

const ownTag = string(ownID)

func TestParseKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	text := strings.Replace(string(encoded(t, sample())), `"a": 1234`,
		`"attachments": [ ], "Body": "x", "Ünknown\n": {"k" : [ 1e400, "\ud800", null,`+"\n"+`  {"deep":"<&>"}]}, "a": 1234`, 1)
	m, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"attachments": `[ ]`, "Body": `"x"`, "a": `12345678901234567890`,
		"Ünknown\n": `{"k" : [ 1e400, "\ud800", null,` + "\n" + `  {"deep":"<&>"}]}`,
	} {
		if got := string(m.Extra[key]); got != want {
			t.Errorf("%q: %s", key, got)
		}
	}
	data := encoded(t, m)
	again, err := Parse(data)
	if err != nil || !reflect.DeepEqual(m, again) || !bytes.Equal(encoded(t, again), data) {
		t.Errorf("not stable: %v", err)
	}
}

// A file that is cut anywhere is never taken for a message, and always for one
// that may still be being written.
func TestIncompleteAtEveryCut(t *testing.T) {
	t.Parallel()
	m := sample()
	m.Body += "😀\u2028\U0010ffff \u0085"
	data := encoded(t, m)
	whole := len(bytes.TrimRight(data, "\n"))
	for n := range whole {
		if _, err := Parse(data[:n]); !Incomplete(err) || KindOf(err) != KindInvalid {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if _, _, err := ParseAuthored(data[:n]); !Incomplete(err) {
			t.Fatalf("authored, cut at %d: %v", n, err)
		}
		holes := append(bytes.Clone(data[:n]), make([]byte, len(data)-n)...)
		if _, err := Parse(holes); !Incomplete(err) {
			t.Fatalf("hole at %d: %v", n, err)
		}
	}
	for _, s := range []string{"", " \n", `{"a": -`, `{"a": 1.`, `{"a": 1e`, `{"a": tru`, `{"a": "\`, `{"a": "\u12`} {
		if _, err := Parse([]byte(s)); !Incomplete(err) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{`{}`, `{"to": "a", "body": 1}`, `x`, `{"to" "a"`} {
		if _, _, err := ParseAuthored([]byte(s)); err == nil || Incomplete(err) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if Incomplete(nil) {
		t.Error("nil is incomplete")
	}
}

func TestMessageJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(struct{ M *Message }{sample()})
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ M *Message }
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Extra["b"] = json.RawMessage(`{"x":[1,2.50]}`) // json.Marshal compacts
	if !reflect.DeepEqual(back.M, want) {
		t.Errorf("%+v", back.M)
	}
	if data, err = json.Marshal(&Message{Body: "\xff\xc2x"}); err != nil || !strings.Contains(string(data), "\ufffdx") {
		t.Errorf("%s, %v", data, err)
	}
	if err := json.Unmarshal([]byte(`{"to": "coder"}`), new(Message)); err == nil {
		t.Error("half a message accepted")
	}
}

func genMessage() *rapid.Generator[*Message] {
	name := rapid.StringMatching(`[a-z0-9]{1,12}`)
	return rapid.Custom(func(t *rapid.T) *Message {
		at := genTime().Draw(t, "at")
		at = time.UnixMilli(max(at.UnixMilli(), 0)).UTC()
		m := &Message{
			Schema: Schema, ID: newID(at.UnixMilli(), rapid.IntRange(0, maxCounter).Draw(t, "n"), "aid"),
			From: "x" + name.Draw(t, "from"), To: "x" + name.Draw(t, "to"), Act: rapid.SampledFrom(Acts()).Draw(t, "act"),
			Subject: CleanSubject(rapid.String().Draw(t, "subject")), Body: rapid.String().Draw(t, "body"),
			Hops: rapid.IntRange(0, 1<<31-1).Draw(t, "hops"), RequiresReply: rapid.Bool().Draw(t, "r"),
			CreatedAt: at, Office: rapid.String().Draw(t, "office"),
		}
		m.Conversation = NewConversation(m.ID)
		if rapid.Bool().Draw(t, "cc?") {
			m.CC = []string{"x" + name.Draw(t, "cc")}
			m.Envelope = &Envelope{Recipients: []string{rapid.String().Draw(t, "aid")}, Key: rapid.String().Draw(t, "key")}
			m.Extra = map[string]json.RawMessage{"X" + rapid.String().Draw(t, "k"): json.RawMessage(`[{}, "é"]`)}
		}
		return m
	})
}

func TestEncodeParseProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genMessage().Draw(t, "m")
		data, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(data)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%s\nreads back as %+v, %v", data, again, err)
		}
		var generic map[string]any
		if err := json.Unmarshal(data, &generic); err != nil || generic["body"] != m.Body || generic["subject"] != m.Subject {
			t.Fatalf("encoding/json reads %v, %v", generic, err)
		}
		if bytes.ContainsFunc(bytes.ReplaceAll(data, []byte("\n"), nil), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Fatalf("raw control characters in %q", data)
		}
	})
}

// Anything the strict parser takes is JSON that encoding/json reads the same
// way, and encodes to a stable form.
func FuzzParse(f *testing.F) {
	f.Add(encoded(f, sample()))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			if m != nil {
				t.Fatal("a message and an error")
			}
			return
		}
		var generic map[string]any
		if err := json.Unmarshal(data, &generic); err != nil || generic["body"] != m.Body || generic["to"] != m.To {
			t.Fatalf("encoding/json differs: %v, %v", generic, err)
		}
		first, err := m.Encode()
		if KindOf(err) == KindTooLarge {
			return
		}
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		again, err := Parse(first)
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("reads back as %+v, %v", again, err)
		}
		if second := encoded(t, again); !bytes.Equal(first, second) {
			t.Fatalf("not stable:\n%s\n%s", first, second)
		}
	})
}
