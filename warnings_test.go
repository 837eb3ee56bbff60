package tare_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// given are the codes of warnings and notes that some path of the code gives, each
// with where. A code is a literal, or a constant of its package; what only hands on
// the code of another warning gives none. others are those that are neither.
func given(t *testing.T) (codes map[string]string, others []string) {
	t.Helper()
	codes = map[string]string{}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") || !within(f.dir, "internal") {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, f.path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		take := func(e ast.Expr) {
			at := fset.Position(e.Pos()).String()
			switch e := e.(type) {
			case *ast.BasicLit:
				if code, err := strconv.Unquote(e.Value); err == nil {
					codes[code] = at
				}
			case *ast.Ident:
				if code, ok := constant(t, f.dir, e.Name); ok {
					codes[code] = at
				} else {
					others = append(others, f.path+" "+e.Name)
				}
			case *ast.SelectorExpr:
				if !handsOn(e) {
					others = append(others, f.path+" "+e.Sel.Name)
				}
			case *ast.CallExpr:
				if len(e.Args) != 1 || !handsOn(e.Args[0]) {
					others = append(others, at)
				}
			default:
				others = append(others, at)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				// add is that of tool, which takes constants.
				name := lastName(n.Fun)
				if len(n.Args) >= 2 && (name == "warn" || name == "warnExisting" || name == "add" && strings.HasPrefix(lastName(n.Args[0]), "Note")) {
					take(n.Args[0])
				}
			case *ast.CompositeLit:
				if name := lastName(n.Type); (name == "Warning" || name == "Note") && len(n.Elts) > 0 {
					take(codeOf(n))
				}
				if list, ok := n.Type.(*ast.ArrayType); ok && (lastName(list.Elt) == "Warning" || lastName(list.Elt) == "Note") {
					for _, e := range n.Elts {
						if lit, ok := e.(*ast.CompositeLit); ok && lit.Type == nil && len(lit.Elts) > 0 {
							take(codeOf(lit))
						}
					}
				}
			}
			return true
		})
	}
	return codes, others
}

// handsOn is whether an expression is the code of another warning.
func handsOn(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Code"
}

// lastName is the name that an expression such as r.warn or result.Warning ends in.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// codeOf is the field Code of a literal, which is the first of its type.
func codeOf(lit *ast.CompositeLit) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if lastName(kv.Key) == "Code" {
				return kv.Value
			}
			continue
		}
		return e
	}
	return lit
}

// constant finds the value of a string constant of a package.
func constant(t *testing.T, dir, name string) (string, bool) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	define := regexp.MustCompile(`(?m)^\s*(?:const )?` + regexp.QuoteMeta(name) + `\s*=\s*"([^"]*)"`)
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if m := define.FindSubmatch(text); m != nil {
			return string(m[1]), true
		}
	}
	return "", false
}

// documented are the codes of a page: those in the first column of its tables.
func documented(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	quoted := regexp.MustCompile("`([a-z0-9_]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			codes[m[1]] = true
		}
	}
	return codes
}

// Every code that anything gives has its line in docs/warnings.md (those of external
// tools in docs/tools.md), and every line there a code that something gives.
func TestWarningsAreDocumented(t *testing.T) {
	codes, others := given(t)
	// These have their codes in a table beside them, or are told them by callers whose
	// own words are found.
	written := map[string][]string{
		"internal/cli/weather.go name":     {"others_now", "steal_now"},
		"internal/runner/searched.go code": {"search_at_least", "search_no_result", "search_unfinished", "loss_inversion"},
		"internal/facts/machine.go code":   {}, "internal/facts/device.go code": {}, "internal/foreign/builder.go code": {}, "internal/analysis/bounds.go code": {},
		"internal/analysis/pressure.go code": {}, "internal/runner/runner.go code": {}, "internal/analysis/evaluate.go code": {}, "internal/tool/notes.go code": {},
	}
	for _, o := range others {
		for _, code := range written[o] {
			codes[code] = o
		}
		if _, known := written[o]; !known {
			t.Errorf("%s: the code of a warning is neither a literal nor a constant, so that nothing holds it to docs/warnings.md", o)
		}
	}
	if len(codes) < 40 {
		t.Fatalf("only %d codes were found: %v", len(codes), slices.Sorted(maps.Keys(codes)))
	}
	page, tools := documented(t, "docs/warnings.md"), documented(t, "docs/tools.md")
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		if !page[code] && !tools[code] {
			t.Errorf("%s gives the warning %s, which has no line in docs/warnings.md", codes[code], code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(page)) {
		if codes[code] == "" {
			t.Errorf("docs/warnings.md has a line for %s, which nothing gives", code)
		}
	}
}
