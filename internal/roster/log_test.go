package roster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.log")
	l, err := openLog(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log := Log{path}
	fmt.Fprint(l, "one\ntwo\n")
	text, at, err := log.Tail(1)
	if err != nil || string(text) != "two\n" {
		t.Fatalf("%q %v", text, err)
	}
	var want, got strings.Builder
	for n := range 60 {
		line := fmt.Sprintf("line %d\n", n)
		want.WriteString(line)
		fmt.Fprint(l, line)
		if n%7 == 0 { // a reader that comes often misses nothing, whatever is moved away
			text, at, err = log.From(at)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(text)
		}
	}
	text, _, err = log.From(at)
	if got.Write(text); err != nil || got.String() != want.String() {
		t.Errorf("%v: %q", err, got.String())
	}
	for _, p := range []string{path, path + older} {
		if fi, err := os.Stat(p); err != nil || fi.Size() > 100 {
			t.Errorf("%s: %v %v", p, fi, err)
		}
	}
	if text, _, err := log.Tail(12); err != nil || strings.Count(string(text), "\n") != 12 || !strings.HasSuffix(string(text), "line 59\n") {
		t.Errorf("%q %v", text, err)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"a", 1, "a"}, {"a\n", 1, "a\n"}, {"a\nb", 1, "b"}, {"a\nb\n", 1, "b\n"}, {"a\nb\n", 2, "a\nb\n"},
		{"a\nb\n", 9, "a\nb\n"}, {"a\n\n", 1, "\n"}, {"a\nb\n", 0, ""},
	} {
		if got := string(lastLines([]byte(c.text), c.n)); got != c.want {
			t.Errorf("%q %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
