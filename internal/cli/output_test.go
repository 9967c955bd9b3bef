package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode"

	"github.com/postroom/postroom/internal/mail"
)

// Whoever looks at JSON on a terminal is as safe as with text, and a parser
// gets every character.
func TestJSONHidesNothing(t *testing.T) {
	t.Parallel()
	const text = "a\x1b[2J\u009b31m \u202eevil\u2066 \u2028x\u200by\x7f \U000e0041 ü 👩‍🚀 \ufeff"
	var b bytes.Buffer
	o := newOutput(&b)
	o.Object(struct {
		S string `json:"s"`
	}{text})
	o.Write(jsonError(&mail.Error{Op: "x", Kind: mail.KindUsage, Addr: text, Err: errors.New(text)}))
	if err := o.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("prints %U", r)
		}
	}
	var got struct {
		V int
		S string
	}
	if err := json.NewDecoder(&b).Decode(&got); err != nil || got.V != 1 || got.S != text {
		t.Errorf("%+v, %v; want %q", got, err, text)
	}
}
