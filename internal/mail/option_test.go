package mail

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`["yes","no, later"]`:          {"yes", "no, later"},
		`[" yes \n now "]`:             {"yes now"},
		`[]`:                           nil,
		`["a\u001b[2J","b\u202e"]`:     {"a [2J", "b[U+202E]"},
		`["é"]`:                        {"é"},
		`["1","2","3","4","5","6"]`:    {"1", "2", "3", "4", "5", "6"},
		`{"a":1}`:                      {"!"},
		`"yes"`:                        {"!"},
		`["a",1]`:                      {"!"},
		`["a","A"]`:                    {"!"},
		`[""]`:                         {"!"},
		`["` + long(81) + `"]`:         {"!"},
		`[` + many(MaxOptions+1) + `]`: {"!"},
	} {
		m := &Message{Extra: map[string]json.RawMessage{"options": json.RawMessage(in)}}
		got, err := m.Options()
		if err != nil {
			got = []string{"!"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	if got, err := (&Message{}).Options(); got != nil || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	m := &Message{}
	if err := m.SetOptions([]string{"yes", "no"}); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Options(); err != nil || !slices.Equal(got, []string{"yes", "no"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func long(n int) string { return strings.Repeat("a", n) }

func many(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = `"` + long(i+1) + `"`
	}
	return strings.Join(list, ",")
}
