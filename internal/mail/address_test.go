package mail

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for _, s := range []string{"a", "7", "coder", "coder-2", "v1.2", "ann", "anna", "a-.b", "agent.smith", "console", "com10", "com", "a.con", long} {
		if got, err := ParseName(s); err != nil || got != s {
			t.Errorf("ParseName(%q) = %q, %v", s, got, err)
		}
	}
	for _, c := range []struct{ in, fault, hint string }{
		{"", "is empty", "choose"},
		{"Coder", "upper-case", `write "coder"`},
		{" coder", "a space", `write "coder"`},
		{"coder\n", "U+000A", `write "coder"`},
		{"my coder", "a space", `write "my-coder"`},
		{"my_coder", "'_'", `write "my-coder"`},
		{"../registry", "'/'", `write "registry"`},
		{"..", "begin and end", "choose"},
		{".", "begin and end", "choose"},
		{".hidden", "begin and end", `write "hidden"`},
		{"a..b", "two dots", `write "a.b"`},
		{"coder.", "begin and end", `write "coder"`},
		{"-x", "begin and end", `write "x"`},
		{"x.tmp-1", "temporary", "choose"},
		{"c:\\x", "':'", `write "c-x"`},
		{"cоder", "'о'", ""}, // Cyrillic
		{"ﬁx", "'ﬁ'", ""},
		{"bad\xff", "invalid", `write "bad"`},
		{"a\x00b", "U+0000", `write "a-b"`},
		{"a\u202eb", "U+202E", `write "a-b"`},
		{"@coder", "'@'", `write "coder"`},
		{"a,b", "','", `write "a-b"`},
		{"a*", "'*'", `write "a"`},
		{long + "a", "longer than 64", ""},
		{"con", "device name", "choose"},
		{"nul.txt", "device name", "choose"},
		{"aux.tar.gz", "device name", "choose"},
		{"com1", "device name", "choose"},
		{"lpt9.log", "device name", "choose"},
		{"prn", "device name", "choose"},
		{"human", "reserved", "choose"},
		{"broadcast", "reserved", "choose"},
		{"all", "reserved", "choose"},
		{"postroom", "reserved", "choose"},
		{"god", "reserved", "choose"},
		{"agent.human", "reserved", "choose"},
		{"HUMAN", "upper-case", "choose"},
	} {
		got, err := ParseName(c.in)
		if got != "" {
			t.Errorf("%q accepted", c.in)
		}
		wantError(t, err, KindInvalid, "parse name", c.fault, c.hint)
	}
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Address{
		"coder":        {Kind: AddrAgent, Name: "coder"},
		"agent.coder":  {Kind: AddrAgent, Name: "agent.coder"},
		"human":        {Kind: AddrHuman, Name: "human"},
		"broadcast":    {Kind: AddrBroadcast, Name: "broadcast"},
		"all":          {Kind: AddrBroadcast, Name: "broadcast"},
		"god":          {Kind: AddrGod, Name: "god"},
		"coder@lab":    {Kind: AddrAgent, Name: "coder", Station: "lab"},
		"human@lab":    {Kind: AddrHuman, Name: "human", Station: "lab"},
		"c.d@build-01": {Kind: AddrAgent, Name: "c.d", Station: "build-01"},
	} {
		got, err := ParseAddress(in)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
		again, err := ParseAddress(got.String())
		if err != nil || again != got {
			t.Errorf("%q reads back as %+v, %v", got, again, err)
		}
	}
	for in, part := range map[string]string{
		"":               "is empty",
		"Human":          "upper-case",
		"postroom":       "takes no mail",
		"coder@":         "station \"\" is empty",
		"@lab":           "is empty",
		"coder@lab@home": "'@'",
		"coder@Lab":      "station",
		"coder@../x":     "station",
		"coder@human":    "reserved",
		"broadcast@lab":  "other stations",
		"all@lab":        "other stations",
		"god@lab":        "other stations",
		"a,b":            "','",
		"coder ":         "a space",
		"codé":           "'é'",
	} {
		_, err := ParseAddress(in)
		wantError(t, err, KindInvalid, "parse address", part)
	}
}

func TestParseSender(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"coder", "human", "postroom", "postroom@lab", "human@lab", "coder@lab"} {
		if a, err := ParseSender(in); err != nil || a.String() != in {
			t.Errorf("%q: %v, %v", in, a, err)
		}
	}
	for _, in := range []string{"", "all", "broadcast", "god", "Human", "human ", "a\nb"} {
		_, err := ParseSender(in)
		wantError(t, err, KindInvalid, "parse sender")
	}
}

func TestAgentAlias(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"agent.coder": "coder", "agent.v1.2": "v1.2", "coder": "", "agent": "", "agent.agent.x": "agent.x", "human": ""} {
		a, err := ParseAddress(in)
		got, ok := a.AgentAlias()
		if err != nil || got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, %v", in, got, ok, err)
		}
	}
	if _, err := ParseAddress("agent.human"); err == nil {
		t.Error("agent.human stands for human")
	}
}

// Names are compared whole: none is a prefix or a pattern of another.
func TestSuggest(t *testing.T) {
	t.Parallel()
	known := []string{"coder", "coder-2", "decoder", "researcher", "reviewer", "ann", "anna", "v1.2", "b"}
	for in, want := range map[string][]string{
		"codr":        {"coder"},
		"cdoer":       {"coder"},
		"Coder":       {"coder", "coder-2", "decoder"},
		"code":        {"coder", "coder-2"},
		"re":          {"reviewer", "researcher"},
		"an":          {"ann", "anna"},
		"anna-marie":  {"anna", "ann"},
		"v1X2":        {"v1.2"},
		"a":           nil,
		"":            nil,
		"   ":         nil,
		"zzzzzzzz":    nil,
		"resercher":   {"researcher"},
		"coder-2-new": {"coder-2", "coder"},
	} {
		if got := Suggest(in, known); !slices.Equal(got, want) {
			t.Errorf("Suggest(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Suggest("aa", []string{"ab", "ac", "ad", "ae", "ab"}); !slices.Equal(got, []string{"ab", "ac", "ad"}) {
		t.Errorf("more than three or twice: %q", got)
	}
	if got := Suggest(strings.Repeat("x", 1<<20), known); got != nil {
		t.Errorf("absurd name: %q", got)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-c]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a), len(b))-min(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	grammar := regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?$`)
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := ParseAddress(s); err == nil {
			if again, err := ParseAddress(a.String()); err != nil || again != a {
				t.Fatalf("%q: %+v reads back as %+v, %v", s, a, again, err)
			}
		} else if strings.ContainsAny(err.Error(), "\n\x1b\r") {
			t.Fatalf("raw controls in %q", err)
		}
		name, err := ParseName(s)
		if err == nil && (name != s || !grammar.MatchString(s) || !filepath.IsLocal(s) || Reserved(s)) {
			t.Fatalf("accepted %q", s)
		}
		if fix := sanitise(s); fix != "" && nameFault(fix) != "" {
			t.Fatalf("%q became %q: %s", s, fix, nameFault(fix))
		}
	})
}
