package router

import (
	"encoding/json"
	"testing"
)

// TestFoldedOf: what we write is read as encoding/json reads it, what is torn is
// as if it were not there.
func TestFoldedOf(t *testing.T) {
	t.Parallel()
	for _, f := range []folded{{}, {Inode: 7, Offset: 1 << 40}, {Inode: 1 << 62, Offset: 3}} {
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"", "\n"} {
			if got := foldedOf(append(data[:len(data):len(data)], end...)); got != f {
				t.Errorf("%s: %+v", data, got)
			}
		}
	}
	for text, want := range map[string]folded{
		`{ "offset": 5, "inode": 6 }`:         {Inode: 6, Offset: 5},
		`{"inode":18446744073709551615}`:      {Inode: 1<<64 - 1},
		`{"inode":7,"offset":`:                {},
		`{"inode":7,"offset":3}{"inode":7}`:   {},
		`{"inode":7,"offset":-1}` + "\n":      {Inode: 7, Offset: -1},
		`{"inode":7,"offset":3}` + "\x00\x00": {},
		``:                                    {},
	} {
		if got := foldedOf([]byte(text)); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
