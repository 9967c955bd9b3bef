package cli

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// manDir is where the manual pages are kept.
const manDir = "../../docs/man"

func TestHelpGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(overview(Commands().All()))
	each(Commands().All(), func(name string, c Command) {
		if !c.Hidden {
			b.WriteString("\n════ post help " + name + "\n\n" + commandHelp(name, c))
		}
	})
	compare(t, "testdata/help.golden", b.String())
}

// A person reads help at 80 columns.
func TestHelpIsNarrow(t *testing.T) {
	t.Parallel()
	check := func(name, text string) {
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > helpWidth {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	check("help", overview(Commands().All()))
	each(Commands().All(), func(name string, c Command) { check(name, commandHelp(name, c)) })
	for _, p := range topics() {
		check(p.name, p.text)
	}
	check("primer", primerText)
}

// The second program speaks for itself, and hands nothing over.
func TestOverviewOfPostd(t *testing.T) {
	t.Parallel()
	text := overview([]Command{{Name: "serve", Summary: "route"}, helpCommand()})
	if !strings.HasPrefix(text, "postd: ") || !strings.Contains(text, "usage: postd COMMAND") || strings.Contains(text, "With postd installed") {
		t.Error(text)
	}
}

func TestManKeepsIndentedLines(t *testing.T) {
	t.Parallel()
	const want = "a\n.nf\n  b \\-c\n.fi\nd\n.PP\n.nf\n  e\n.fi\n"
	if got := paragraphs("a\n  b -c\nd\n\n  e"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestManGolden(t *testing.T) {
	t.Parallel()
	pages := ManPages(Commands().All())
	for name, text := range pages {
		compare(t, filepath.Join(manDir, name), text)
	}
	for _, c := range Commands().All() {
		if c.Postd {
			pages["post-"+c.Name+".1"] = "" // internal/postd compares it
		}
	}
	kept, err := os.ReadDir(manDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kept {
		if _, ok := pages[f.Name()]; !ok {
			t.Errorf("%s belongs to no command; remove it", f.Name())
		}
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the table says; run go test ./internal/cli -update", path)
	}
}

// each walks the table with full names.
func each(table []Command, fn func(name string, c Command)) {
	for _, c := range table {
		fn(c.Name, c)
		each(c.Subs, func(name string, s Command) { fn(c.Name+" "+name, s) })
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, e := range Commands() {
		if made := e.Make(); made.Name != e.Name {
			t.Errorf("%s makes %s", e.Name, made.Name)
		}
	}
	seen := map[string]bool{}
	each(Commands().All(), func(name string, c Command) {
		if seen[name] {
			t.Errorf("%s stands twice", name)
		}
		seen[name] = true
		if c.Summary == "" || strings.HasSuffix(c.Summary, ".") {
			t.Errorf("%s: summary %q", name, c.Summary)
		}
		kinds := 0
		for _, is := range []bool{c.Setup != nil || c.Subs != nil, c.Postd} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s: either Setup or Subs, or both, or Postd", name)
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: a line of its help is too wide: %q", name, line)
			}
		}
		checkFlags(t, name, c)
	})
	for _, p := range topics() {
		if seen[p.name] && p.name != "office" {
			t.Errorf("topic %s is a command too", p.name)
		}
	}
}

// checkFlags: a command may not take the name of a global flag.
func checkFlags(t *testing.T, name string, c Command) {
	fs := commandFlags(c)
	if fs == nil {
		return
	}
	fs.VisitAll(func(f *flag.Flag) {
		if globalFlags().Lookup(f.Name) != nil {
			t.Errorf("%s: --%s is a flag of every command", name, f.Name)
		}
		if f.Usage == "" {
			t.Errorf("%s: --%s is not explained", name, f.Name)
		}
	})
}

// What only a person may do, by design §11.
func TestPersonCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"agent set", "agent archive", "agent unarchive", "agent rename",
		"channel create", "channel add", "channel remove", "office move", "office fork",
		"answer", "install", "uninstall", "up", "start", "stop", "restart",
	} {
		each(Commands().All(), func(n string, c Command) {
			if n == name && !c.Person && !c.Postd {
				t.Errorf("%s must be a person's command", name)
			}
		})
	}
}

// Whoever reads --json finds the fields.
func TestJSONIsDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	for line := range strings.Lines(string(data)) {
		if names, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			heads = append(heads, strings.Split(names, ", ")...)
		}
	}
	for _, c := range Commands().All() {
		if c.Hidden || c.Name == "help" || c.Name == "completion" {
			continue // words for people, whatever is asked
		}
		if !slices.Contains(heads, c.Name) {
			t.Errorf("docs/json.md says nothing of %s", c.Name)
		}
	}
}

// TestPrimerIsShort: at most 700 tokens, which have 3.5 bytes at the least
// (docs/bench.md).
func TestPrimerIsShort(t *testing.T) {
	t.Parallel()
	if n := float64(len(primerText)) / 3.5; n > 700 {
		t.Errorf("about %.0f tokens", n)
	}
}

// The start-up budget (design §2): nothing heavy in `post`.
func TestNothingHeavyLinked(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, heavy := range []string{`"net/http"`, `"text/template"`, `"html/template"`, `"regexp"`, `"log/slog"`} {
			if strings.Contains(string(src), "\t"+heavy+"\n") {
				t.Errorf("%s imports %s", path, heavy)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
