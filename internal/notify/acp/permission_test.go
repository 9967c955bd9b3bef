package acp

import (
	"io"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	p := policy{agent: "coder", office: "/the office", program: "/opt/bin/post", kinds: []string{"read", "edit"}}
	for command, want := range map[string]bool{
		"post inbox":                     true,
		"/opt/bin/post inbox":            true,
		" post  inbox ":                  true,
		"post inbox --as coder":          true,
		"post inbox --as=coder":          true,
		"post inbox --as agent.coder":    true,
		"post inbox --as 'coder'":        true,
		"post read next":                 true,
		"post done all-read":             true,
		"post send ann --as coder -m hi": true,
		"post reply last -m 'it''s $done; `really` | & > $(x)'": true,
		"post reply last -m \"two\nlines; and more\"":           true,
		"post inbox --as coder --office '/the office'":          true,
		"post inbox --as coder --office \"/the office\"":        true,
		"/opt/bin/post inbox --as coder --office='/the office'": true,
		"post reply last -m 'unclosed":                          false,
		"post reply last -m \"$HOME\"":                          false,
		"post reply last -m \"`id`\"":                           false,
		"post reply last -m \"a\\\"\"":                          false,
		"post reply last -m \"!x\"":                             false,
		"post inbox --as human":                                 false,
		"post inbox -as human":                                  false,
		"post inbox --as=human":                                 false,
		"post inbox --as":                                       false,
		"post send ann -m hi --as ann":                          false,
		"post inbox --office /elsewhere":                        false,
		"post inbox; rm -rf x":                                  false,
		"post inbox && rm x":                                    false,
		"post inbox | sh":                                       false,
		"post inbox > /etc/x":                                   false,
		"post inbox\nrm x":                                      false,
		"post inbox & rm x":                                     false,
		"post inbox $(rm x)":                                    false,
		"post inbox `rm x`":                                     false,
		"post inbox *":                                          false,
		"post inbox ~":                                          false,
		"post inbox {a,b}":                                      false,
		"post inbox # x":                                        false,
		"post inbox \\\nx":                                      false,
		"post inbox\x00":                                        false,
		"X=1 post inbox":                                        false,
		"env post inbox":                                        false,
		"./post inbox":                                          false,
		"/tmp/post inbox":                                       false,
		"posts inbox":                                           false,
		"post":                                                  false,
		"post answer x":                                         false,
		"post join eve --notify exec:/bin/sh":                   false,
		"post agent set coder --launch x":                       false,
		"post --as human send ann":                              false,
		"post serve":                                            false,
		"":                                                      false,
	} {
		kind := sdk.ToolKindExecute
		call := sdk.ToolCallUpdate{Kind: &kind, RawInput: map[string]any{"command": command}}
		if got := p.decide(call); got.allow != want {
			t.Errorf("%q: %+v", command, got)
		}
		call = sdk.ToolCallUpdate{Kind: &kind, Title: &command}
		if got := p.decide(call); got.allow != want {
			t.Errorf("title %q: %+v", command, got)
		}
	}
}

// Only what a person allowed by its kind, and never a shell by another's.
func TestPolicyKinds(t *testing.T) {
	t.Parallel()
	p := policy{agent: "coder", office: "/o", program: "post", kinds: []string{"read", "edit"}}
	title := "post inbox"
	for kind, want := range map[sdk.ToolKind]bool{"read": true, "edit": true, "delete": false, "execute": true, "fetch": false, "other": false, "": false} {
		if got := p.decide(sdk.ToolCallUpdate{Kind: &kind, Title: &title}); got.allow != want {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	if got := p.decide(sdk.ToolCallUpdate{Title: &title}); got.allow {
		t.Errorf("no kind: %+v", got)
	}
	kind := sdk.ToolKindExecute
	if got := p.decide(sdk.ToolCallUpdate{Kind: &kind, Title: &title, RawInput: map[string]any{"script": "x"}}); got.allow {
		t.Errorf("a shell tool that hides its command: %+v", got)
	}
	p.kinds = []string{"execute"}
	if got := p.decide(sdk.ToolCallUpdate{Kind: &kind, Title: &title, RawInput: map[string]any{"command": "make; make test"}}); !got.allow {
		t.Errorf("allowed by a person: %+v", got)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	all := []sdk.PermissionOption{{Kind: "allow_always", OptionId: "A"}, {Kind: "allow_once", OptionId: "a"}, {Kind: "reject_always", OptionId: "R"}, {Kind: "reject_once", OptionId: "r"}}
	for _, c := range []struct {
		allow   bool
		options []sdk.PermissionOption
		want    string
	}{
		{true, all, "a"}, {false, all, "r"}, {true, all[:1], ""}, {false, all[:3], ""}, {false, nil, ""}, {true, nil, ""},
	} {
		got := answer(c.allow, c.options)
		if c.want == "" != (got.Cancelled != nil) || got.Selected != nil && string(got.Selected.OptionId) != c.want {
			t.Errorf("%t %v: %+v", c.allow, c.options, got)
		}
	}
}

// FuzzSplit: what is called plain means the same to a shell: nothing in it is
// special outside of quotes.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"post inbox", "post reply -m 'a b' \"c\"", "a'b'c", "''", "x;y", "\"'\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, plain := split(line)
		if !plain {
			return
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'"'"'`)+"'")
		}
		again, ok := split(strings.Join(quoted, " "))
		if !ok || !slices.Equal(again, words) {
			t.Errorf("%q: %q, again %q", line, words, again)
		}
	})
}

func TestSieve(t *testing.T) {
	t.Parallel()
	var kinds, garbage []string
	asked := 0
	s := sieve{func(k string) { kinds = append(kinds, k) }, func(w string) { garbage = append(garbage, w) },
		func() bool { asked++; return asked < 2 }}
	var out strings.Builder
	long := `{"jsonrpc":"2.0","id":3,"result":"` + strings.Repeat("x", maxLine) + `"}`
	in := strings.Join([]string{
		"", "  \t\r", "hello", "[]", "{}", "null", `{"jsonrpc":"1.0","id":1}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"plan"}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":7}`,
		`{"jsonrpc":"2.0","method":"_of/theirs","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		long,
		`{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file"}`,
		`{"jsonrpc":"2.0","id":"q2","method":"fs/read_text_file"}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call"}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{}}`,
	}, "\n")
	if err := s.run(strings.NewReader(in), &out); err != io.EOF {
		t.Fatal(err)
	}
	want := `{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file"}
{"jsonrpc":"2.0","id":2,"result":{}}
`
	if out.String() != want || !slices.Equal(kinds, []string{"plan", "tool_call"}) {
		t.Errorf("%q\n%q", out.String(), kinds)
	}
	if !slices.Equal(garbage, []string{"no message", "no message", "no message", "no message", "no message", "no update", "too long", "too many questions"}) {
		t.Errorf("%q", garbage)
	}
}
