package plain_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/postroom/postroom/internal/plain"
)

// FuzzText: what is plain is written as encoding/json writes it, and read back.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "größe → ok", "tab\t", `q"`, `b\`, "\x7f", "\u2028", "\xff", "<&>"} {
		f.Add(s, int64(7))
	}
	f.Fuzz(func(t *testing.T, s string, n int64) {
		var w plain.Writer
		w.Number(`{"n":`, n)
		w.Text(`,"s":`, s)
		w.Some(`,"e":`, s)
		w.Raw("}")
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(struct {
			N int64  `json:"n"`
			S string `json:"s"`
			E string `json:"e,omitempty"`
		}{n, s, s}); err != nil {
			t.Fatal(err)
		}
		if w.Bad {
			return
		}
		if string(w.Bytes)+"\n" != want.String() {
			t.Fatalf("%s\n%s", w.Bytes, want.String())
		}
		c := plain.Cutter{Rest: string(w.Bytes)}
		c.Must(`{"n":`)
		got := c.Number()
		c.Must(`,"s":"`)
		text, some := c.Text(), c.Some(`,"e":"`)
		c.Must("}")
		if n < 0 {
			return // it has no numbers with a sign
		}
		if c.Bad || c.Rest != "" || got != uint64(n) || text != s || some != s {
			t.Fatalf("%+v %d %q %q", c, got, text, some)
		}
	})
}

// TestCutterIsStrict: what encoding/json would read otherwise, or not at all, is
// bad.
func TestCutterIsStrict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", `a`, `a\"b"`, "a\tb\"", "\xff\"", "\u2028\""} {
		if c := (plain.Cutter{Rest: text}); c.Text() != "" || !c.Bad {
			t.Errorf("text %q is taken", text)
		}
	}
	for _, text := range []string{"", "-1", "01", "x", "99999999999999999999"} {
		if c := (plain.Cutter{Rest: text}); true {
			if n := c.Number(); !c.Bad {
				t.Errorf("number %q is taken as %d", text, n)
			}
		}
	}
	c := plain.Cutter{Rest: `{ "n":1}`}
	if c.Must(`{"n":`); !c.Bad {
		t.Error("white space is passed over")
	}
}
