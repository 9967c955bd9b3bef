package mail

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReceiptLine(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Receipt{
		`{"at":"2026-05-30T12:00:00.123Z","event":"read","id":"` + ownTag + `","part":2,"parts":4,"evidence":"stdout \"1\"\n"}` + "\n": {
			At: noon, Event: EventRead, ID: ownID, Part: 2, Parts: 4, Evidence: "stdout \"1\"\n"},
		`{"at":"2026-05-30T12:00:00.123Z","event":"done","id":"` + ownTag + `"}` + "\n": {At: noon, Event: EventDone, ID: ownID},
	} {
		got := string(r.AppendLine(nil))
		if got != want {
			t.Errorf("got %s", got)
		}
		back, err := ParseReceipt([]byte(got))
		if err != nil || back != r {
			t.Errorf("%s reads back as %+v, %v", got, back, err)
		}
	}
}

// An owner may report only what he saw, read and did.
func TestParseReceiptRefuses(t *testing.T) {
	t.Parallel()
	good := string(Receipt{At: noon, Event: EventRead, ID: ownID, Part: 1, Parts: 2}.AppendLine(nil))
	for _, c := range []struct{ old, new, part string }{
		{`"read"`, `"delivered"`, "event is none of"},
		{`"read"`, `"Read"`, "event is none of"},
		{`"read"`, `7`, "is a number"},
		{`"event":"read",`, ``, "event is none of"},
		{ownTag, "../../../registry", "id is no message id"},
		{`"at":"2026-`, `"at":"never`, "at is no time"},
		{`"part":1`, `"part":3`, "part lies outside parts"},
		{`"part":1`, `"part":0`, "part lies outside parts"},
		{`"part":1`, `"part":-1`, "is a number"},
		{`"part":1`, `"part":1,"part":2`, "stands twice"},
		{`"part":1`, `"part":1,"at":"2026-05-30T12:00:00Z"`, "stands twice"},
		{`}`, ``, "ends too early"},
		{`}`, `}{}`, "something follows"},
		{`{`, `[{`, "no JSON object"},
		{`{`, "\x00{", "not UTF-8"},
		{`{`, "{\"x\":\"\xff\",", "not UTF-8"},
		{`{`, `{"x":"` + strings.Repeat("y", receiptLineMax) + `",`, "too long"},
	} {
		_, err := ParseReceipt([]byte(strings.Replace(good, c.old, c.new, 1)))
		wantError(t, err, KindCorrupt, "read receipt", c.part)
	}
	if r, err := ParseReceipt([]byte(strings.Replace(good, "{", `{"v":2,"new":{"x":[]},`, 1))); err != nil || r.Part != 1 {
		t.Errorf("a newer line: %+v, %v", r, err)
	}
}

func TestParseReceiptsPassesOverTornLines(t *testing.T) {
	t.Parallel()
	a := Receipt{At: noon, Event: EventSurfaced, ID: parentID}
	b := Receipt{At: noon, Event: EventRead, ID: parentID}
	la, lb := string(a.AppendLine(nil)), string(b.AppendLine(nil))
	for _, c := range []struct {
		name, data string
		want       []Receipt
		bad        []int // lines
		rest       string
	}{
		{"nothing", "", nil, nil, ""},
		{"two", la + lb, []Receipt{a, b}, nil, ""},
		{"torn between", la + la[:30] + "\n" + lb, []Receipt{a, b}, []int{2}, ""},
		{"torn and glued", la[:30] + lb, nil, []int{1}, ""},
		{"empty lines", "\n" + la + "\n\r\n" + lb, []Receipt{a, b}, nil, ""},
		{"holes", la + "\x00\x00\x00\n" + lb, []Receipt{a, b}, []int{2}, ""},
		{"being written", la + lb[:20], []Receipt{a}, nil, lb[:20]},
		{"line feed missing", la + lb[:len(lb)-1], []Receipt{a, b}, nil, ""},
		{"forged", la + strings.Replace(lb, "read", "delivered", 1), []Receipt{a}, []int{2}, ""},
		{"other text", "hello\n{}\n[]\n" + la, []Receipt{a}, []int{1, 2, 3}, ""},
	} {
		got, bad, next := ParseReceipts([]byte(c.data))
		var lines []int
		for _, l := range bad {
			lines = append(lines, l.Line)
			if l.Err == nil || l.Offset > 0 && c.data[l.Offset-1] != '\n' {
				t.Errorf("%s: %+v", c.name, l)
			}
		}
		if !slices.Equal(got, c.want) || !slices.Equal(lines, c.bad) || c.data[next:] != c.rest {
			t.Errorf("%s: %+v, bad %v, rest %q", c.name, got, bad, c.data[next:])
		}
	}
}

func TestIndexLine(t *testing.T) {
	t.Parallel()
	x := IndexLine{Seq: 1<<64 - 1, ID: ownID, Digest: DigestOf([]byte("x")), From: "ann", Act: "request",
		Subject: "a <\"b\"> \u2028", Conversation: "conv-7f3a91", As: AsAll, Turns: 3}
	want := `{"seq":18446744073709551615,"id":"` + ownTag + `","digest":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",` +
		`"from":"ann","act":"request","subject":"a <\"b\"> ` + "\u2028" + `","conversation":"conv-7f3a91","as":"all","turns":3}` + "\n"
	if got := string(x.AppendLine(nil)); got != want {
		t.Errorf("got %s", got)
	}
	back, err := ParseIndexLine([]byte(want))
	if err != nil || back != x {
		t.Errorf("%+v, %v", back, err)
	}
	x.Chain, x.Since = 7, noon
	if back, err = ParseIndexLine(x.AppendLine(nil)); err != nil || back != x {
		t.Errorf("%+v, %v", back, err)
	}
	for _, since := range []string{"never", "2026-05-30", "9999-12-31T23:59:59-05:00"} {
		line := bytes.Replace(x.AppendLine(nil), []byte("2026-05-30T12:00:00.123Z"), []byte(since), 1)
		if back, err = ParseIndexLine(line); err != nil || !back.Since.IsZero() {
			t.Errorf("since %s: %v, %v", since, back.Since, err)
		}
	}
	x.Turns, x.Chain, x.Since = 0, 0, time.Time{}
	if back, err = ParseIndexLine(x.AppendLine(nil)); err != nil || back != x {
		t.Errorf("%+v, %v", back, err)
	}
	for _, c := range []struct{ old, new, part string }{
		{`"seq":18446744073709551615`, `"seq":18446744073709551616`, "is a number"},
		{`"seq":18446744073709551615`, `"seq":-1`, "is a number"},
		{ownTag, "..", "id is no message id"},
		{"2d71", "2D71", "digest is no SHA-256"},
		{"2d71", "", "digest is no SHA-256"},
		{`"as":"all"`, `"as":"bcc"`, "as is none of"},
		{`"turns":3`, `"turns":"3"`, "is a string"},
		{"}\n", "", "ends too early"},
		{"}\n", "}}\n", "something follows"},
		{`"from"`, `"id"`, "stands twice"},
	} {
		_, err := ParseIndexLine([]byte(strings.Replace(want, c.old, c.new, 1)))
		wantError(t, err, KindCorrupt, "read index", c.part)
	}
}

func TestLinesBackward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tail    string
		atStart bool
		want    []string
	}{
		{"", true, nil},
		{"torn", true, nil},
		{"a\n", true, []string{"a"}},
		{"a\nb\nc\n", true, []string{"c", "b", "a"}},
		{"a\nb\nc", true, []string{"b", "a"}},
		{"\n\na\n\nb\n\n", true, []string{"b", "a"}},
		{"a\nb\nc\n", false, []string{"c", "b"}},
		{"\nb\n", false, []string{"b"}},
		{"half\n", false, nil},
	} {
		var got []string
		for at, line := range LinesBackward([]byte(c.tail), c.atStart) {
			if !strings.HasPrefix(c.tail[at:], string(line)+"\n") {
				t.Errorf("%q: line %q is not at %d", c.tail, line, at)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, %v: %q", c.tail, c.atStart, got)
		}
	}
	for range LinesBackward([]byte("a\nb\n"), true) {
		break // yields no more
	}
}

func TestLinesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		r := Receipt{
			At:    genTime().Draw(t, "at"),
			Event: rapid.SampledFrom([]string{EventSurfaced, EventRead, EventDone}).Draw(t, "event"),
			ID:    newID(genTime().Draw(t, "id").UnixMilli(), 1, "a"), Evidence: text.Draw(t, "evidence"),
		}
		line := r.AppendLine(nil)
		back, err := ParseReceipt(line)
		if err != nil || back != r || bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) {
			t.Fatalf("%q: %+v, %v", line, back, err)
		}
		x := IndexLine{Seq: rapid.Uint64().Draw(t, "seq"), ID: r.ID, Digest: DigestOf(line), From: text.Draw(t, "from"),
			Act: text.Draw(t, "act"), Subject: text.Draw(t, "subject"), Conversation: text.Draw(t, "conversation"), As: AsCC,
			Chain: rapid.IntRange(0, 99).Draw(t, "chain"), Since: genTime().Draw(t, "since")}
		line = x.AppendLine(line)
		for at, last := range LinesBackward(line, true) {
			if got, err := ParseIndexLine(last); err != nil || got != x || at == 0 {
				t.Fatalf("%q: %+v, %v", last, got, err)
			}
			break
		}
	})
}

func TestLinesMendText(t *testing.T) {
	t.Parallel()
	r := Receipt{At: noon.Add(time.Microsecond), Event: EventRead, ID: ownID, Evidence: "\xff\x00"}
	got, err := ParseReceipt(r.AppendLine(nil))
	if err != nil || got.Evidence != "\ufffd\x00" || got.At != noon {
		t.Errorf("%+v, %v", got, err)
	}
	x := IndexLine{ID: ownID, Digest: DigestOf(nil), Subject: "\xc2", As: AsTo}
	if got, err := ParseIndexLine(x.AppendLine(nil)); err != nil || got.Subject != "\ufffd" {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzParseReceipts(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		receipts, bad, next := ParseReceipts(data)
		if next < 0 || next > len(data) || bytes.IndexByte(data[next:], '\n') >= 0 {
			t.Fatalf("next is %d of %d", next, len(data))
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; len(receipts)+len(bad) > lines {
			t.Fatalf("%d lines from %d", len(receipts)+len(bad), lines)
		}
		var out []byte
		for _, r := range receipts {
			out = r.AppendLine(out)
		}
		again, bad, next := ParseReceipts(out)
		if !reflect.DeepEqual(again, receipts) || bad != nil || next != len(out) {
			t.Fatalf("%+v reads back as %+v, %v", receipts, again, bad)
		}
	})
}

func FuzzParseIndexLine(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ParseIndexLine(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatal("no JSON")
		}
		if again, err := ParseIndexLine(x.AppendLine(nil)); err != nil || again != x {
			t.Fatalf("%+v reads back as %+v, %v", x, again, err)
		}
	})
}
