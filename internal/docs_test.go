package internal

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// markdown lists the repository's documents with their text.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, root := range []string{"../docs", ".."} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && root == ".." && p != ".." {
				return fs.SkipDir
			}
			if !d.IsDir() && strings.HasSuffix(p, ".md") {
				text, err := os.ReadFile(p)
				out[filepath.ToSlash(p)] = string(text)
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// testIn reports whether a file has a test: file is like "internal/mail/id_test.go".
func testIn(t *testing.T, file, name string) bool {
	t.Helper()
	text, err := os.ReadFile("../" + file)
	return err == nil && strings.Contains(string(text), "func "+name+"(")
}

// TestIncidentGuards: what the documents call a guard exists.
func TestIncidentGuards(t *testing.T) {
	t.Parallel()
	guard := regexp.MustCompile("`((?:internal|e2e|bench)/[a-z0-9_/]+_test\\.go):((?:Test|Fuzz|Benchmark)\\w+)`")
	docs := markdown(t)
	for name, text := range docs {
		for _, m := range guard.FindAllStringSubmatch(text, -1) {
			if !testIn(t, m[1], m[2]) {
				t.Errorf("%s names %s in %s, which does not exist", name, m[2], m[1])
			}
		}
	}
	rows, none := 0, 0
	for line := range strings.Lines(docs["../docs/incidents.md"]) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], " what") || strings.HasPrefix(cells[1], "---") {
			continue
		}
		rows++
		switch last := cells[3]; {
		case strings.TrimSpace(last) == "no guard yet":
			none++
		case !guard.MatchString(last):
			t.Errorf("incidents.md: no guard in %q", line)
		}
	}
	t.Logf("%d incidents, %d without a guard", rows, none)
	if rows < 54 {
		t.Errorf("incidents.md has %d rows", rows)
	}
}

// TestLinks: every relative link of a document leads somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	for name, text := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}

// TestCitations: code cites sections of the format that exist, and documents
// that exist.
func TestCitations(t *testing.T) {
	t.Parallel()
	format, err := os.ReadFile("../docs/spool-format.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`spool-format\.md ((?:§[0-9]+(?:, | and |–)?)+)`)
	number := regexp.MustCompile(`§([0-9]+)`)
	doc := regexp.MustCompile(`docs/([a-z0-9/-]+\.md)`)
	for _, s := range sources(t) {
		for _, m := range section.FindAllStringSubmatch(s.text, -1) {
			for _, n := range number.FindAllStringSubmatch(m[1], -1) {
				if !strings.Contains(string(format), "\n## "+n[1]+". ") {
					t.Errorf("%s cites spool-format.md §%s, which does not exist", s.path, n[1])
				}
			}
		}
		for _, m := range doc.FindAllStringSubmatch(s.text, -1) {
			if _, err := os.Stat("../docs/" + m[1]); err != nil {
				t.Errorf("%s cites docs/%s: %v", s.path, m[1], err)
			}
		}
	}
}

// TestNamesInArchitecture: a name such as `router.collect` in the documents is
// one of that package.
func TestNamesInArchitecture(t *testing.T) {
	t.Parallel()
	declared := map[string]map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if declared[s.pkg] == nil {
			declared[s.pkg] = map[string]bool{}
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[s.pkg][d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declared[s.pkg][spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range spec.Names {
							declared[s.pkg][n.Name] = true
						}
					}
				}
			}
		}
	}
	name := regexp.MustCompile("`([a-z]+)((?:\\.[A-Za-z]\\w*)+)`")
	docs := markdown(t)
	for _, doc := range []string{"../docs/architecture.md", "../AGENTS.md", "../CONTRIBUTING.md"} {
		for _, m := range name.FindAllStringSubmatch(docs[doc], -1) {
			for _, part := range strings.Split(m[2], ".")[1:] {
				if in, ours := declared[m[1]]; ours && !in[part] {
					t.Errorf("%s names %s%s, which does not exist", doc, m[1], m[2])
				}
			}
		}
	}
}
