package top

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Where room is short, the least important column goes first, and what stays is
// never wider than the room.
func TestMeasure(t *testing.T) {
	t.Parallel()
	cols := []column{{}, {drop: 2}, {flex: true, least: 6}, {drop: 1}}
	rows := []row{{"", []cell{{"name", plain}, {"second", plain}, {"a rather long subject", plain}, {"id42", plain}}}, {"", []cell{{"n", plain}, {"", plain}, {"short", plain}, {"id1", plain}}}}
	for room, want := range map[int]string{
		41: "name  second  a rather long subject  id42", 40: "name  second  a rather long subje…  id42", 26: "name  second  a rat…  id42",
		25: "name  a rather lon…  id42", 18: "name  a rat…  id42", 17: "name  a rather l…", 12: "name  a rat…", 9: "na…  a r…",
	} {
		if got := strings.TrimRight(rows[0].draw(theme{}, cols, measure(cols, rows, room)), " "); got != want || width(got) > room {
			t.Errorf("%d: %q, want %q", room, got, want)
		}
	}
	spare := []column{{}, {drop: 2}, {flex: true, least: 6}, {spare: true}}
	if w := measure(spare, rows, 40); w[3] != -1 || w[2] != width("a rather long subject") {
		t.Errorf("what is spare goes before anything is cut: %v", w)
	}
	if w := measure(spare, rows, 41); w[3] < 0 {
		t.Errorf("%v", w)
	}
	if got := rows[1].draw(theme{colour: true}, []column{{right: true}, {}, {}, {}}, []int{4, -1, 5, -1}); ansi.Strip(got) != "   n  short" {
		t.Errorf("%q", got)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		room int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"x", 0, ""}, {"\x1b[1mabcd\x1b[m", 3, "\x1b[1mab…\x1b[m"}} {
		if got := fit(c.s, c.room); got != c.want {
			t.Errorf("%q in %d: %q", c.s, c.room, got)
		}
	}
	if got := fitEnd("~/a/long/path", 8); got != "…ng/path" {
		t.Errorf("%q", got)
	}
}

// FuzzFit: cut text fits, whatever it is.
func FuzzFit(f *testing.F) {
	for _, s := range []string{"👩‍👩‍👧‍👦🏳️‍🌈", "e\u0301\u0301", "日本", "a\x1b[31mb", "☝🏽️", "ก็็็็"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, room int) {
		room = min(max(room, 1), 200)
		if got := fit(text(s), room); width(got) > room {
			t.Errorf("%q in %d: %q is %d wide", s, room, got, width(got))
		}
	})
}

// What keys do to what is typed; | is the cursor.
func TestField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys  string
		lines bool
		want  string
	}{
		{"a b c", false, "abc|"}, {"a b left c", false, "ac|b"}, {"a b home c end d", false, "cabd|"}, {"a b backspace", false, "a|"},
		{"backspace", false, "|"}, {"a b left left left delete", false, "|b"}, {"a space b c ctrl+w", false, "a |"}, {"a b ctrl+u", false, "|"},
		{"a alt+enter b", true, "a\nb|"}, {"a alt+enter b", false, "ab|"}, {"ä 日 left", false, "ä|日"}, {"up", false, "|"},
	} {
		f := field{lines: c.lines}
		for _, k := range strings.Fields(c.keys) {
			f, _ = f.key(keyOf(k))
		}
		if got := string(f.runes[:f.at]) + "|" + string(f.runes[f.at:]); got != c.want {
			t.Errorf("%s: %q", c.keys, got)
		}
	}
	f := field{lines: true}.insert("a\r\nb\rc\td\x1b\x00")
	if f.String() != "a\nb\nc\td" {
		t.Errorf("%q", f)
	}
	if f = (field{}).insert(strings.Repeat("x", 2*longest)); len(f.runes) != longest {
		t.Errorf("%d", len(f.runes))
	}
	if _, ok := (field{}).key(tea.KeyPressMsg{Code: tea.KeyF1}); ok {
		t.Error("F1 means nothing")
	}
}

// The cursor is where the next letter goes.
func TestBreakAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s           string
		at, room    int
		want        string
		row, column int
	}{
		{"", 0, 5, "", 0, 0}, {"abc", 3, 5, "abc", 0, 3}, {"abcde", 5, 5, "abcde/", 1, 0}, {"abcdef", 6, 5, "abcde/f", 1, 1}, {"abcdef", 5, 5, "abcde/f", 1, 0},
		{"a\nb", 1, 5, "a/b", 0, 1}, {"a\nb", 2, 5, "a/b", 1, 0}, {"a\n", 2, 5, "a/", 1, 0}, {"日本", 2, 3, "日/本", 1, 2}, {"ab", 1, 5, "ab", 0, 1},
	} {
		parts, row, col := breakAt([]rune(c.s), c.at, c.room)
		if strings.Join(parts, "/") != c.want || row != c.row || col != c.column {
			t.Errorf("%q at %d: %q, %d, %d", c.s, c.at, parts, row, col)
		}
	}
}
