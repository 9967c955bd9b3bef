package internal

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The sizes of design §15.
const (
	funcLines = 45
	fileLines = 400
	mainLines = 40
)

type sized struct {
	where string
	lines int
}

// p90 is the length that nine of ten do not exceed.
func p90(list []sized) int {
	if len(list) == 0 {
		return 0
	}
	slices.SortFunc(list, func(a, b sized) int { return b.lines - a.lines })
	return list[len(list)/10].lines
}

func TestSizes(t *testing.T) {
	t.Parallel()
	var funcs, files []sized
	for _, s := range sources(t) {
		lines := strings.Count(s.text, "\n")
		if strings.HasPrefix(s.path, "cmd/") && path.Base(s.path) == "main.go" && lines > mainLines {
			t.Errorf("%s has %d lines: main is wiring only, %d at most", s.path, lines, mainLines)
		}
		if s.test {
			continue
		}
		files = append(files, sized{s.path, lines})
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1
				funcs = append(funcs, sized{s.at(f) + " " + f.Name.Name, n})
			}
		}
	}
	for _, c := range []struct {
		what string
		list []sized
		max  int
	}{{"functions", funcs, funcLines}, {"files", files, fileLines}} {
		got := p90(c.list)
		t.Logf("%s: %d, p90 %d lines", c.what, len(c.list), got)
		for _, w := range c.list[:min(5, len(c.list))] {
			t.Logf("  %4d %s", w.lines, w.where)
		}
		if got > c.max {
			t.Errorf("p90 of %s is %d lines, more than %d: split the longest", c.what, got, c.max)
		}
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	vague := []string{"util", "utils", "common", "helper", "helpers", "manager", "service", "services", "misc", "shared", "base", "lib", "core", "types"}
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		documented[s.pkg] = documented[s.pkg] || s.file.Doc != nil
		if slices.Contains(vague, path.Base(s.pkg)) {
			t.Errorf("package %s: the name says nothing; name it after the one thing that it is", s.pkg)
		}
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment: say what it is for, its invariants, and what it must never do", pkg)
		}
	}
}

// TestNoState: no work in init, no package-level state (design §15).
func TestNoState(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s: func init: no work at start", s.at(d))
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					checkVars(t, s, d)
				}
			}
		}
		for _, imp := range s.file.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			if imp.Name != nil && imp.Name.Name == "_" && p != "embed" {
				t.Errorf("%s: import _ %q: nothing is registered by a blank import", s.at(imp), p)
			}
		}
	}
}

func checkVars(t *testing.T, s source, d *ast.GenDecl) {
	t.Helper()
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			var value ast.Expr
			if i < len(v.Values) {
				value = v.Values[i]
			}
			if !fixed(s, name.Name, v.Type, value) {
				t.Errorf("%s: var %s is package-level state: pass it, or make it a function", s.at(v), name.Name)
			}
		}
	}
}

// fixed reports whether a package variable is a constant in all but name: a
// sentinel error, an assertion, an array or slice literal, embedded files, the
// version that the linker sets.
func fixed(s source, name string, typ, value ast.Expr) bool {
	if name == "_" || strings.HasPrefix(strings.ToLower(name), "err") || strings.HasPrefix(s.pkg, "cmd/") && name == "version" {
		return true
	}
	if sel, ok := typ.(*ast.SelectorExpr); ok && sel.Sel.Name == "FS" {
		return true // embed
	}
	switch v := value.(type) {
	case nil:
		return strings.Contains(s.text, "//go:embed")
	case *ast.BasicLit:
		return false
	case *ast.CompositeLit:
		_, list := v.Type.(*ast.ArrayType)
		return list
	case *ast.CallExpr:
		switch f := v.Fun.(type) {
		case *ast.ArrayType: // []byte("…")
			return true
		case *ast.SelectorExpr:
			x, _ := f.X.(*ast.Ident)
			return x != nil && (x.Name == "regexp" || x.Name == "errors" || x.Name == "time" && f.Sel.Name == "Date")
		}
	}
	return false
}
