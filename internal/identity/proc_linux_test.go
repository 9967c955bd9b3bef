package identity

import "testing"

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " S 41 42 43 34816 42 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9988 1 2"
	for _, c := range []struct {
		text string
		want stat
		ok   bool
	}{
		{"42 (post)" + rest, stat{"post", false, 41, 43, "34816", "9988"}, true},
		{"42 (a) S 1 (b)" + rest, stat{"a) S 1 (b", false, 41, 43, "34816", "9988"}, true},
		{"42 (post) Z 41 42 43 34816 42 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9988 1 2", stat{"post", true, 41, 43, "34816", "9988"}, true},
		{"42 (post) Z 41 42 43 34816 42 4194304 1 2 3 4 5 6 7 8 20 0 2 0 9988 1 2", stat{"post", false, 41, 43, "34816", "9988"}, true}, // exec
		{"42 (post) S 41", stat{}, false},
		{"", stat{}, false},
		{")(", stat{}, false},
	} {
		if got, ok := parseStat(c.text); ok != c.ok || ok && got != c.want {
			t.Errorf("%q: %+v %v", c.text, got, ok)
		}
	}
}
