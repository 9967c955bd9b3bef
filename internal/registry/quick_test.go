package registry

import (
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The quick way reads what the general one reads, or declines.
func TestQuickAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z ,:{}\[\]"]*`))
		list := rapid.SliceOfN(text, 0, 3)
		e := Entry{
			AID: "a-1", Name: "coder", Archived: rapid.Bool().Draw(t, "archived"), Role: text.Draw(t, "role"),
			InboxPath: text.Draw(t, "inbox"), Notify: list.Draw(t, "notify"), Launch: list.Draw(t, "launch"),
			Joined: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "joined"), 0).UTC(), Transcript: "_inbox_coder.md",
		}
		if rapid.Bool().Draw(t, "extra") {
			e.Extra = map[string]jsonRaw{"x": jsonRaw(`{"y":[1]}`)}
		}
		raw := appendEntry(nil, e)
		got, err := decodeEntry(raw)
		var general Entry
		extra, gerr := decodeFields(raw, general.fields())
		general.Extra, general.Transcript = extra, "_inbox_coder.md"
		if err != nil || gerr != nil || string(appendEntry(nil, got)) != string(appendEntry(nil, general)) || !reflect.DeepEqual(got.Extra, e.Extra) {
			t.Fatalf("%s\n%+v %v\n%+v %v", raw, got, err, general, gerr)
		}
	})
}

func FuzzQuick(f *testing.F) {
	f.Add([]byte(`{"aid":"a","name":"b","aliases":["x","y"],"joined":"2026-05-30T14:03:11Z"}`))
	f.Add([]byte(`{"aid":"a","name":"b","archived":true,"notify":["\n"],"launch":[]}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"name":"b","aid":"a"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var q, g Entry
		if !utf8.Valid(raw) || !quick(raw, q.fields()) {
			return // registries are checked to be UTF-8
		}
		if extra, err := decodeFields(raw, g.fields()); err == nil && (extra != nil || string(appendEntry(nil, q)) != string(appendEntry(nil, g))) {
			t.Fatalf("%q: %+v and %+v", raw, q, g)
		}
	})
}
