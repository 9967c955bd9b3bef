package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func place() Place {
	return Place{Home: "/home/ann", Repo: "/src/app", Dir: "/src/app/deep", Getenv: func(string) string { return "" }}
}

func wish() Wish { return Wish{Post: "/opt/bin/post", Allow: true, MCP: true, Hooks: true} }

func target(t *testing.T, runtime string, i int) Target {
	t.Helper()
	list, err := Targets(runtime, User, place(), wish())
	if err != nil {
		t.Fatal(err)
	}
	return list[i]
}

// samples are settings as people have them; each with the target that edits it.
func samples(t *testing.T) map[string]struct {
	Target
	data string
} {
	t.Helper()
	out := map[string]struct {
		Target
		data string
	}{}
	dirs, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		name := d.Name()
		runtime, rest, ok := strings.Cut(name, "-")
		if !ok || strings.Contains(name, ".golden") {
			continue
		}
		i := 0
		if strings.HasPrefix(rest, "second") {
			i = 1
		}
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = struct {
			Target
			data string
		}{target(t, runtime, i), string(data)}
	}
	return out
}

// Installing keeps every byte that was there, in order; installing again
// changes nothing; removing gives back the file.
func TestInstallAndBack(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		first, err := s.Install([]byte(s.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if os.Getenv("SHOW") != "" {
			t.Logf("%s:\n%s", name, first.Data)
		}
		if len(first.Changes) == 0 || !subsequence(s.data, string(first.Data)) {
			t.Errorf("%s: %v, or something that was there is lost:\n%s", name, first.Changes, first.Data)
		}
		again, err := s.Install(first.Data)
		if err != nil || len(again.Changes) > 0 || string(again.Data) != string(first.Data) {
			t.Errorf("%s, again: %v %v", name, again.Changes, err)
		}
		look, err := s.Look(first.Data)
		if err != nil || len(look.Lacks) > 0 || look.Ours == 0 {
			t.Errorf("%s: %+v %v", name, look, err)
		}
		back, err := s.Uninstall(first.Data, first.Made)
		if err != nil || strings.TrimRight(string(back.Data), "\n") != strings.TrimRight(s.data, "\n") ||
			strings.HasSuffix(name, ".json") && string(back.Data) != s.data {
			t.Errorf("%s, removed: %v\n%s\nwant\n%s", name, err, back.Data, s.data)
		}
	}
}

// subsequence reports whether all of part's bytes stand in whole, in order,
// white space aside.
func subsequence(part, whole string) bool {
	for _, c := range strings.Join(strings.Fields(part), "") {
		i := strings.IndexRune(whole, c)
		if i < 0 {
			return false
		}
		whole = whole[i+len(string(c)):]
	}
	return true
}

// Text that does not parse is refused with its place.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, data, at string }{
		{"json", `{"a": 1`, ":1:8: the file ends before this is closed"},
		{"json", "{\n  \"é\": 1,\n  \"b\" 2\n}", ":3:7: a colon"},
		{"json", "{\"é\": tru }", ":1:7: no value"},
		{"json", `{"a": 1,}`, ":1:9: a comma may not"},
		{"json", "{\"a\": \"x\n\"}", ":1:9: this string is not closed"},
		{"json", `{"a": "\q"}`, ":1:7: this string has an escape"},
		{"json", `{} {}`, ":1:4: the value ends"},
		{"json", `[1]`, ":1:1: settings are an object"},
		{"json", "// no\n{}", ":1:1: no value begins"},
		{"json", "{\"a\": \xff}", ":1:7: this is not UTF-8"},
		{"json", `{"hooks": {"Stop": {}}}`, ":1:20: hooks.Stop should be a list"},
		{"toml", "a = 1\nb = ", ":2:5: a value"},
		{"toml", "a = 1 b = 2", ":1:7: the line should end"},
		{"toml", "a = \"x\n", ":1:7: this string is not closed on its line"},
		{"toml", "[a]\n[b]\n[a]\n", ":3:1: the table [a] stands in the file twice"},
		{"toml", "a = 1\na = 2\n", ":2:1: a stands in its table twice"},
		{"toml", "a = [1, 2\nb = 3\n", ":2:1: a comma or ] is missing"},
		{"toml", "[a\nb = 1", ":1:3: the table's name"},
		{"toml", "a = {x = 1", ":1:11: a comma or } is missing"},
		{"toml", "x = '''\n", ":1:5: this string is not closed"},
		{"toml", "mcp_servers = { postroom = { command = \"x\" } }", ":1:28: another MCP server"},
		{"toml", "[mcp_servers.postroom.env]\nA = \"b\"\n", ":1:1: another MCP server"},
	} {
		s := target(t, "claude", 0)
		if c.file == "toml" {
			s = target(t, "codex", 1)
		}
		r, err := s.Install([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(), s.Path+c.at) || r.Data != nil {
			t.Errorf("%q: %v; want %s", c.data, err, c.at)
		}
	}
}

// What is allowed without a question is the mail verbs, and never post as such
// (design §12): an injected agent could do with more what only a person may.
func TestAllowsMailVerbsOnly(t *testing.T) {
	t.Parallel()
	never := []string{"answer", "join", "init", "install", "uninstall", "agent", "channel", "approvals", "office", "doctor", "hook", "mcp", "setup", "route", "up", "start", "stop"}
	for _, runtime := range Runtimes() {
		list, err := Targets(runtime, User, place(), wish())
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range list {
			r, err := target.Install(nil)
			if err != nil {
				t.Fatal(err)
			}
			text := string(r.Data)
			for _, bad := range []string{"post:*", "post *", "(post)", "mcp__postroom\"", "danger", "bypass", "sandbox"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s: %s holds %q", runtime, target.Path, bad)
				}
			}
			for _, verb := range never {
				if strings.Contains(text, "(post "+verb+":") {
					t.Errorf("%s: %s allows post %s", runtime, target.Path, verb)
				}
			}
		}
	}
}

// Others' hooks keep their places: Codex's trust goes by place.
func TestOursComeLast(t *testing.T) {
	t.Parallel()
	s := target(t, "codex", 0)
	r, err := s.Install([]byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	look, err := s.Look(r.Data)
	if err != nil || !strings.HasSuffix(look.Keys[0].Key, "/.codex/hooks.json:stop:1:0") {
		t.Errorf("%+v %v", look.Keys, err)
	}
}

// Codex 0.171.0 gave this hash for this hook.
func TestTrustHash(t *testing.T) {
	t.Parallel()
	s := target(t, "codex", 0)
	data := `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"/opt/x/post hook codex","timeout":10}]}]}}`
	look, err := s.Look([]byte(data))
	if err != nil || len(look.Keys) != 1 || look.Keys[0].Hash != "sha256:249125916e201522036fd592d47a6913c7b772909d1bb49631cb23323f01de5f" {
		t.Fatalf("%+v %v", look.Keys, err)
	}
	key := look.Keys[0].Key
	for config, want := range map[string]int{
		"":                              1,
		"[hooks.state.\"" + key + "\"]": 1,
		"[hooks.state.\"" + key + "\"]\ntrusted_hash = \"" + look.Keys[0].Hash + "\"":                  0,
		"[hooks]\nstate = { \"" + key + "\" = { trusted_hash = \"" + look.Keys[0].Hash + "\" } }":      0,
		"[hooks.state.\"" + key + "\"]\nenabled = false\ntrusted_hash = \"" + look.Keys[0].Hash + "\"": 1,
		"[hooks.state.\"" + key + "\"]\ntrusted_hash = \"sha256:00\"":                                  1,
	} {
		if got, err := Untrusted("config.toml", []byte(config), look.Keys); err != nil || len(got) != want {
			t.Errorf("%s: %v %v, want %d", config, got, err, want)
		}
	}
}

// A hook of ours among others' in one group goes alone.
func TestSharedGroup(t *testing.T) {
	t.Parallel()
	s := target(t, "claude", 0)
	const theirs = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"b"}]}]}}`
	with := strings.Replace(theirs, `,{"type":"command","command":"b"}`, `,{"type":"command","command":"/opt/bin/post hook claude","timeout":3},{"type":"command","command":"b"}`, 1)
	r, err := s.Uninstall([]byte(with), nil)
	if err != nil || string(r.Data) != theirs {
		t.Errorf("%s %v", r.Data, err)
	}
}

// Whatever the settings are, ours go in, come out, and nothing else changes.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{`{}`, `{"hooks":{"Stop":[]}}`, "{\n \"permissions\": {\"allow\": [\"a\"]}, // x\n}", `{"mcpServers":{}}`, "\xef\xbb\xbf{}", `{"a":[1,{"b":null}],"hooks":{}}`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, data string, comments bool) {
		list, err := Targets("claude", User, place(), wish())
		if err != nil {
			t.Fatal(err)
		}
		s := list[0]
		s.Comments = comments
		first, err := s.Install([]byte(data))
		if err != nil {
			return
		}
		again, err := s.Install(first.Data)
		if err != nil || len(again.Changes) > 0 {
			t.Fatalf("again: %v %v\n%s", again.Changes, err, first.Data)
		}
		back, err := s.Uninstall(first.Data, first.Made)
		if err != nil {
			t.Fatalf("%v\n%s", err, first.Data)
		}
		// What was ours before is not given back; white space and an empty file
		// are.
		if before, _ := s.Look([]byte(data)); before.Ours == 0 && squeeze(string(back.Data)) != squeeze(data) && strings.Trim(data, "\ufeff \t\r\n") != "" {
			t.Fatalf("was\n%s\nis\n%s", data, back.Data)
		}
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func FuzzTOML(f *testing.F) {
	for _, s := range []string{"a = 1\n", "[a]\nb = \"\"\"x\"\"\"\n", "mcp_servers = {}\n", "mcp_servers.x.command = 'y'\n", "[[a]]\n[a.b]\n[[a]]\n[a.b]\n", "# c", "x = [\n1, # y\n]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		list, err := Targets("codex", User, place(), wish())
		if err != nil {
			t.Fatal(err)
		}
		s := list[1]
		first, err := s.Install([]byte(data))
		if err != nil {
			return
		}
		again, err := s.Install(first.Data)
		if err != nil || len(again.Changes) > 0 {
			t.Fatalf("again: %v %v\n%s", again.Changes, err, first.Data)
		}
		if len(first.Changes) == 0 {
			return
		}
		back, err := s.Uninstall(first.Data, first.Made)
		if err != nil || squeeze(string(back.Data)) != squeeze(data) {
			t.Fatalf("%v: was\n%s\nis\n%s", err, data, back.Data)
		}
	})
}
