// Package internal has no code, only tests of the house as a whole: which
// package may import which (design §15), the on-disk vectors (docs/spool-format.md)
// and what the docs claim.
package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/postroom/postroom"

// layer is what one package may import of ours, and why not more.
type layer struct {
	may    string // packages, separated by spaces; "*" is all that post may link
	why    string
	postd  bool // linked by postd only
	onTest bool // for tests only: no package's code imports it
}

// layers is design §15's table with the packages that docs/adr/0012 added.
// Packages of postd may import whatever post may, and each other.
func layers() map[string]layer {
	postd := func(why string) layer { return layer{may: "*", why: why, postd: true} }
	return map[string]layer{
		"mail":              {"", "the vocabulary imports nothing of ours, so everything may import it", false, false},
		"policy":            {"mail", "the rules are pure: what they know comes in as an argument", false, false},
		"plain":             {"", "how small files of ours stand in JSON; it knows no file", false, false},
		"vfs":               {"", "the seam knows files, not mail", false, false},
		"spool":             {"mail plain vfs", "the disk protocol knows no rules and no registry", false, false},
		"registry":          {"mail policy vfs", "the address book is what policy.Directory asks for, on a vfs", false, false},
		"transcript":        {"mail vfs", "a transcript is text about a message; who may write it is the router's", false, false},
		"journal":           {"mail plain vfs", "the journal records, it decides nothing", false, false},
		"approval":          {"mail policy vfs", "what a person decides; who performs it is the router's", false, false},
		"debt":              {"mail plain policy vfs", "the ledger; who chases is the router's", false, false},
		"config":            {"mail plain policy vfs", "settings, no mail", false, false},
		"office":            {"mail policy vfs spool registry approval config", "what both ends ask; it neither sends nor routes", false, false},
		"identity":          {"mail vfs config registry", "who and where; it touches no mail", false, false},
		"presence":          {"mail vfs", "what a session said of itself; a hint, no mail", false, false},
		"mailbox":           {"mail policy vfs spool registry journal approval debt config office", "the front door never imports the router: they meet on disk", false, false},
		"router":            {"mail plain policy vfs spool registry transcript journal approval debt config office", "routing knows neither its callers nor its notifiers", false, false},
		"notify":            {"mail vfs presence", "a notifier gets a pointer, never a mailbox", false, false},
		"notify/notifytest": {"mail vfs notify", "the contract suite", false, true},
		"notify/remote":     {"mail notify", "adapters that need net/http", true, false},
		"notify/acp":        postd("keeps headless workers; the protocol's library is not worth post's start"),
		"notify/acptest":    {"", "an agent for tests", false, true},
		"reach":             {"mail policy vfs spool approval config notify", "tells a person what waits; what it waits for is others' to say", false, false},
		"dispatch":          {"mail policy vfs spool registry journal approval debt config office presence mailbox router notify reach", "a pass and its wakes; the command line is above it", false, false},
		"standing":          {"mail policy vfs spool registry journal approval debt config office identity presence mailbox notify roster", "how agents stand; it only looks, for whoever shows it", false, false},
		"hook":              {"mail policy vfs spool registry journal approval debt config office identity presence mailbox router notify dispatch", "hooks are a front end beside cli", false, false},
		"hook/hooktest":     {"mail hook", "the contract suite", false, true},
		"install":           {"mail", "edits other programs' settings as text; it opens no file", false, false},
		"verify":            {"mail policy vfs spool registry transcript journal approval debt config office", "checks what is on disk; it runs no router", false, false},
		"roster":            {"mail vfs identity", "starts and stops processes; it knows no mail", false, false},
		"doctor":            {"mail policy vfs spool registry transcript journal approval debt config office identity presence mailbox router notify dispatch reach verify hook install station", "finds and mends; the command line is above it", false, false},
		"cli":               {"*", "the top of post", false, false},
		"officetest":        {"mail policy vfs spool registry transcript journal approval debt config office mailbox router", "offices for tests", false, true},
		"serve":             postd("the always-on router"),
		"web":               postd("the page"),
		"mcpserver":         postd("the MCP server"),
		"search":            postd("the index"),
		"top":               postd("the floor in a terminal"),
		"audit":             postd("the git committer"),
		"unit":              postd("service files of systemd and launchd"),
		"station":           {"mail vfs spool", "how the link stands, for whoever says it; the link itself is postd's", false, false},
		"link":              postd("mail between stations"),
		"link/linktest":     {"*", "the contract suite of wires, with a directory as the wire", true, true},
		"link/natslink":     postd("mail between stations over NATS"),
		"link/hub":          postd("the embedded hub: server, keys, join lines"),
		"postd":             postd("the top of postd"),
	}
}

// source is one Go file of the repository, parsed.
type source struct {
	path string // slash path within the repository
	pkg  string // within internal/ or cmd/: "mail", "cmd/post"
	test bool
	file *ast.File
	set  *token.FileSet
	text string
}

// sources parses every Go file, whatever its build constraints.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	for _, root := range []string{".", "../cmd"} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return cmpErr(err, fs.SkipDir)
			}
			if d.IsDir() || !strings.HasSuffix(p, ".go") || filepath.Dir(p) == "." {
				return nil
			}
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, p, text, parser.ParseComments)
			if err != nil {
				return err
			}
			s := source{path: "internal/" + filepath.ToSlash(p), file: f, set: set, text: string(text)}
			s.path = strings.TrimPrefix(path.Clean(s.path), "internal/../")
			s.pkg = strings.TrimPrefix(path.Dir(s.path), "internal/")
			s.test = strings.HasSuffix(p, "_test.go")
			out = append(out, s)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func cmpErr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// imports lists what a file imports.
func (s source) imports() []string {
	var out []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}

func (s source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

func TestImports(t *testing.T) {
	t.Parallel()
	table := layers()
	for _, s := range sources(t) {
		own, known := table[s.pkg]
		if strings.HasPrefix(s.pkg, "cmd/") {
			own, known = layer{may: "*", why: "wiring", postd: s.pkg == "cmd/postd"}, true
		}
		if !known {
			t.Errorf("%s: package %s is not in the table of arch_test.go: say there what it may import, and why it exists in docs/adr", s.path, s.pkg)
			continue
		}
		if s.test {
			continue
		}
		for _, imp := range s.imports() {
			sub, ours := strings.CutPrefix(imp, module+"/internal/")
			if !ours || sub == s.pkg {
				continue
			}
			if !allowed(table, own, sub) {
				t.Errorf("%s: %s may not import %s: %s (design §15)", s.path, s.pkg, sub, own.why)
			}
		}
	}
}

func allowed(table map[string]layer, own layer, imp string) bool {
	to := table[imp]
	switch {
	case to.onTest:
		return own.onTest
	case own.may == "*":
		return own.postd || !to.postd
	}
	return slices.Contains(strings.Fields(own.may), imp)
}

// TestPostLinksLittle: what costs every start of post (design §2, limits).
func TestPostLinksLittle(t *testing.T) {
	t.Parallel()
	sources(t) // so that the result is not cached over a change
	if _, err := os.ReadFile("../go.sum"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "./cmd/post")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"golang.org/x/sys/", "github.com/fsnotify/fsnotify", module + "/"}
	heavy := map[string]string{
		"net": "a twentieth of every start: a local socket is opened by a system call", "net/http": "2 ms of every start", "database/sql": "lives in postd", "html/template": "lives in postd",
		"text/template": "lives in postd", "expvar": "pulls net/http", "testing": "no test code in a program",
	}
	table := layers()
	for _, p := range strings.Fields(string(out)) {
		if why, bad := heavy[p]; bad {
			t.Errorf("post links %s: %s", p, why)
		}
		first, _, _ := strings.Cut(p, "/")
		external := strings.Contains(first, ".") && !slices.ContainsFunc(ours, func(o string) bool { return strings.HasPrefix(p, o) })
		if external {
			t.Errorf("post links %s: only x/sys and fsnotify are worth their start time", p)
		}
		if sub, ok := strings.CutPrefix(p, module+"/internal/"); ok && (table[sub].postd || table[sub].onTest) {
			t.Errorf("post links %s: %s", sub, table[sub].why)
		}
	}
}

// TestPure: mail and policy read no file, no network and no clock (design §15).
func TestPure(t *testing.T) {
	t.Parallel()
	impure := []string{"os", "net", "io/fs", "io/ioutil", "syscall", "math/rand", "math/rand/v2", "crypto/rand", "log", "sync", "context", "unsafe", "runtime"}
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"}
	for _, s := range sources(t) {
		if s.test || s.pkg != "mail" && s.pkg != "policy" {
			continue
		}
		for _, imp := range s.imports() {
			if slices.Contains(impure, imp) || strings.HasPrefix(imp, "os/") || strings.HasPrefix(imp, "net/") {
				t.Errorf("%s imports %s: %s is pure", s.path, imp, s.pkg)
			}
			if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") && !strings.HasPrefix(imp, module) {
				t.Errorf("%s imports %s: %s needs the standard library only", s.path, imp, s.pkg)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, sel.Sel.Name) {
				t.Errorf("%s: time.%s in %s: the time comes in as an argument", s.at(n), sel.Sel.Name, s.pkg)
			}
			return true
		})
	}
}
