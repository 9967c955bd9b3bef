package mail

import (
	"encoding/json"
	"errors"
	"strings"
)

// What a question may offer a person to choose from.
const (
	MaxOptions   = 9
	optionMax    = 80 // bytes
	optionsField = "options"
)

// CheckOptions returns the options of a question as they are stored: each on one
// line, none empty, longer than 80 bytes or there twice, nine at most. The error
// is KindInvalid.
func CheckOptions(options []string) ([]string, error) {
	bad := func(what string) ([]string, error) {
		return nil, &Error{Op: "send", Kind: KindInvalid, Addr: optionsField, Err: errors.New(what), Hint: "give up to 9 short answers; the question itself is the text"}
	}
	if len(options) > MaxOptions {
		return bad("are more than 9")
	}
	var out []string
	seen := map[string]bool{}
	for _, o := range options {
		o = Neutralise(CleanSubject(o), false)
		key := strings.ToLower(o)
		switch {
		case o == "":
			return bad("hold an empty one")
		case len(o) > optionMax:
			return bad("hold one of more than 80 bytes")
		case seen[key]:
			return bad("hold " + quoteShort(o) + " twice")
		}
		seen[key] = true
		out = append(out, o)
	}
	return out, nil
}

// SetOptions puts options that CheckOptions returned into a message, as the member
// "options", which travels as any other that schema 1 does not know.
func (m *Message) SetOptions(options []string) error {
	if len(options) == 0 {
		return nil
	}
	data, err := json.Marshal(options)
	if err != nil {
		return err
	}
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra[optionsField] = data
	return nil
}

// Options lists what a question offers a person; the error is CheckOptions', for
// what an author wrote by hand.
func (m *Message) Options() ([]string, error) {
	raw, ok := m.Extra[optionsField]
	if !ok {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, &Error{Op: "send", Kind: KindInvalid, Addr: optionsField, Err: errors.New("are no list of texts"), Hint: "write [\"yes\", \"no\"]"}
	}
	return CheckOptions(list)
}
