package cli

import "testing"

func TestFitEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		room int
		want string
	}{{"/a/b", 4, "/a/b"}, {"/aa/bb", 4, "…/bb"}, {"/äö/bb", 5, "…ö/bb"}, {"/日本", 4, "…本"}, {"abc", 1, "…"}} {
		if got := fitEnd(c.s, c.room); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.s, c.room, got, c.want)
		}
	}
}
