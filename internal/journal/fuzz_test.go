package journal

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postroom/postroom/internal/mail"
)

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"n":1,"at":"2026-05-30T14:03:11.123Z","event":"adopted","prev":""}`))
	f.Add([]byte(`{"n":2,"at":"2026-05-30T14:03:11Z","event":"transcript","file":"_inbox_a.md","offset":7,"length":9,"detail":{"a":"b"},"more":1,"prev":"00"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseLine(line)
		var want Record
		if slow := json.Unmarshal(line, &want); (slow == nil && want.N > 0 && want.Event != "" && !want.At.IsZero()) != (err == nil) {
			t.Fatalf("%q: %v, as JSON %v", line, err, slow)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(r, want) {
			t.Fatalf("%q\n%+v, as JSON\n%+v", line, r, want)
		}
		if fast, ok := appendPlain(nil, &r); ok {
			if slow, _, _ := appendAny(nil, &r); !bytes.Equal(fast, slow) {
				t.Fatalf("%s\n%s", fast, slow)
			}
		}
		once, hash, err := appendLine(nil, &r)
		if err != nil {
			return // a year that JSON cannot hold
		}
		if bytes.Count(once, []byte("\n")) != 1 || hash != hashLine(once[:len(once)-1]) {
			t.Fatalf("%q", once)
		}
		again, err := parseLine(once[:len(once)-1])
		if err != nil {
			t.Fatal(err)
		}
		if twice, _, _ := appendLine(nil, &again); !bytes.Equal(once, twice) {
			t.Fatalf("%s\n%s", once, twice)
		}
	})
}

// FuzzOpen: whatever stands in a file, opening keeps all of it somewhere, and
// the chain behind the last settled record is sound afterwards.
func FuzzOpen(f *testing.F) {
	f.Add("")
	f.Add("\x00\x00\n")
	f.Add(`{"n":1,"at":"2026-05-30T14:03:11Z","event":"settled","prev":""}` + "\n{")
	f.Add(`{"n":1,"at":"2026-05-30T14:03:11Z","event":"read","detail":{"event":"settled"},"prev":""}` + "\n{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		m := newMem()
		if err := m.Mkdir(Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, m, file1, text)
		j := mustOpen(t, m, day1)
		left := read(t, m, file1)
		if !strings.HasPrefix(text, left) {
			t.Fatalf("%q became %q", text, left)
		}
		if left != text && read(t, m, tornPrefix+"2026-05-30-1") != text[len(left):] {
			t.Fatal("the torn end was not kept")
		}
		if _, err := j.Unsettled(); err != nil {
			t.Fatal(err)
		}
		write(t, j, rec(day1, Joined, 1))
		if n, _ := j.Head(); n == 0 {
			t.Fatal("no head")
		}
	})
}

// What Each gives is what Append got, whatever the dates and batches.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMem()
		j, err := Open(m, day1)
		if err != nil {
			t.Fatal(err)
		}
		var want []Record
		batches := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawRecord), 0, 5), 1, 8).Draw(t, "batches")
		for i, b := range batches {
			if err := j.Append(b...); err != nil {
				t.Fatal(err)
			}
			want = append(want, b...)
			if i%3 == 2 {
				j.Close()
				if j, err = Open(m, day1); err != nil {
					t.Fatal(err)
				}
			}
		}
		var got []Record
		if err := Each(m, time.Time{}, time.Time{}, func(r Record) error {
			r.N, r.Prev = 0, ""
			got = append(got, r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		if r, err := Verify(m); err != nil || r.Break != nil {
			t.Fatalf("%+v %v", r.Break, err)
		}
	})
}

func drawRecord(t *rapid.T) Record {
	at := day1.Add(time.Duration(rapid.IntRange(-200, 200).Draw(t, "hours")) * time.Hour)
	return Record{
		At: at, Event: rapid.SampledFrom([]string{Adopted, Settled, Transcript}).Draw(t, "event"),
		ID: mail.ID(rapid.String().Draw(t, "id")), Agent: rapid.String().Draw(t, "agent"),
		Seq: rapid.Uint64().Draw(t, "seq"), Offset: rapid.Int64Min(0).Draw(t, "offset"),
	}
}
