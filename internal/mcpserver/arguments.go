package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/postroom/postroom/internal/mail"
)

// The kinds of an argument.
const (
	kindText   = "string"
	kindNumber = "integer"
	kindYesNo  = "boolean"
	kindList   = "array" // of strings
)

// argument is one argument of a tool.
type argument struct {
	name, kind, about string
	required          bool
	one               []string // the values it may have; nil is any
}

// schema is the JSON schema of the arguments, as short as can be: every client
// shows it to its model at every turn.
func schema(args []argument) json.RawMessage {
	var b bytes.Buffer
	var required []string
	b.WriteString(`{"type":"object","properties":{`)
	for i, a := range args {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(asJSON(a.name) + `:{"type":"` + a.kind + `"`)
		if a.kind == kindList {
			b.WriteString(`,"items":{"type":"string"}`)
		}
		if a.one != nil {
			b.WriteString(`,"enum":` + asJSON(a.one))
		}
		if a.about != "" {
			b.WriteString(`,"description":` + asJSON(a.about))
		}
		b.WriteByte('}')
		if a.required {
			required = append(required, a.name)
		}
	}
	b.WriteByte('}')
	if required != nil {
		b.WriteString(`,"required":` + asJSON(required))
	}
	b.WriteByte('}')
	return b.Bytes()
}

func asJSON(v any) string {
	data, _ := json.Marshal(v) // strings and lists of them always marshal
	return string(data)
}

// values are the arguments of one call. The first that is wrong is kept in err.
type values struct {
	tool  string
	given map[string]json.RawMessage
	err   error
}

// parse reads the arguments of a call, and refuses what the tool does not know:
// an argument that is dropped in silence may be the one that mattered.
func parse(tool string, args []argument, raw json.RawMessage) (*values, error) {
	v := &values{tool: tool, given: map[string]json.RawMessage{}}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
		if err := json.Unmarshal(raw, &v.given); err != nil {
			return nil, argumentError(tool, "arguments", "are no JSON object", "give an object of named arguments")
		}
	}
	var known []string
	for _, a := range args {
		known = append(known, a.name)
		if bytes.Equal(v.given[a.name], []byte("null")) {
			delete(v.given, a.name)
		}
	}
	for name := range v.given {
		if !slices.Contains(known, name) {
			hint := "it takes " + strings.Join(known, ", ")
			if len(known) == 0 {
				hint = "it takes none"
			}
			if near := mail.Suggest(name, known); len(near) > 0 {
				hint = "did you mean " + near[0] + "?"
			}
			return nil, argumentError(tool, name, "is no argument of this tool", hint)
		}
	}
	for _, a := range args {
		if a.required && v.given[a.name] == nil {
			return nil, argumentError(tool, a.name, "is missing", "give it: "+a.hint())
		}
	}
	return v, nil
}

func (a argument) hint() string {
	if a.about != "" {
		return a.about
	}
	return map[string]string{kindText: "a text", kindNumber: "a whole number", kindYesNo: "true or false", kindList: "a list of texts"}[a.kind]
}

func argumentError(tool, name, what, hint string) error {
	return &mail.Error{Op: tool, Kind: mail.KindUsage, Addr: mail.Neutralise(name, false), Err: errors.New(what), Hint: hint}
}

func (v *values) wrong(name, what, hint string) {
	if v.err == nil {
		v.err = argumentError(v.tool, name, what, hint)
	}
}

// text is a string; a number counts as its digits.
func (v *values) text(name string) string {
	raw, ok := v.given[name]
	if !ok {
		return ""
	}
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(raw, &s) == nil:
	case json.Unmarshal(raw, &n) == nil:
		s = n.String()
	default:
		v.wrong(name, "is no text", `give a string in quotes`)
	}
	return s
}

// list is a list of strings, or one string with commas.
func (v *values) list(name string) []string {
	raw, ok := v.given[name]
	if !ok {
		return nil
	}
	var parts []string
	if json.Unmarshal(raw, &parts) != nil {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			v.wrong(name, "is neither a text nor a list of texts", `give "a,b" or ["a","b"]`)
			return nil
		}
		parts = strings.Split(s, ",")
	}
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// number is a whole number between low and high; absent is what it is if it
// was not given.
func (v *values) number(name string, absent, low, high int) int {
	raw, ok := v.given[name]
	if !ok {
		return absent
	}
	var n int
	if json.Unmarshal(bytes.Trim(raw, `"`), &n) != nil {
		v.wrong(name, "is no whole number", "give one from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
		return absent
	}
	if n < low || n > high {
		v.wrong(name, "cannot be "+strconv.Itoa(n), "give a number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
		return absent
	}
	return n
}

func (v *values) yes(name string) bool {
	raw, ok := v.given[name]
	if !ok {
		return false
	}
	var b bool
	if json.Unmarshal(bytes.Trim(raw, `"`), &b) != nil {
		v.wrong(name, "is neither true nor false", "say true, or leave it out")
	}
	return b
}

// act is a speech act.
func (v *values) act(name string) mail.Act {
	s := strings.ToLower(v.text(name))
	if s == "" || mail.Act(s).Known() {
		return mail.Act(s)
	}
	hint := "use " + strings.Join(acts(), ", ")
	if near := mail.Suggest(s, acts()); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	v.wrong(name, "cannot be "+asJSON(mail.Neutralise(s, false)), hint)
	return ""
}

func acts() []string {
	var out []string
	for _, a := range mail.Acts() {
		out = append(out, string(a))
	}
	return out
}
