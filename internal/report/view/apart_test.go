package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// below are the packages that sections share, the lowest first.
func below() []string { return []string{"piece", "model", "sheet"} }

// Sections do not call each other: a package of this folder imports only those that sections share, and these only lower ones.
func TestPackagesOfSectionsAreApart(t *testing.T) {
	files := must.Get(filepath.Glob("*/*.go"))(t)
	must.Require(t, len(files) >= 40, "only %d files", len(files))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		allowed := below()
		if i := slices.Index(allowed, filepath.Dir(file)); i >= 0 {
			allowed = allowed[:i]
		}
		f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly))(t)
		for _, spec := range f.Imports {
			name, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "tare/internal/report/view/")
			must.True(t, !ours || slices.Contains(allowed, name), "%s imports %s; what two sections share belongs to piece, model or sheet", file, name)
		}
	}
}

// Files of package section do not use each other's names.
func TestFilesOfSectionAreApart(t *testing.T) {
	files := must.Get(filepath.Glob("section/*.go"))(t)
	of := map[string]string{} // the file of each name of the package
	unresolved := map[string][]*ast.Ident{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
		unresolved[file] = f.Unresolved
		for name := range f.Scope.Objects {
			of[name] = file
		}
	}
	must.Require(t, len(of) >= 40, "only %d names", len(of))
	for file, names := range unresolved {
		for _, name := range names {
			other := of[name.Name]
			must.True(t, other == "", "%s uses %s of %s; what two sections share belongs to piece, model or sheet", file, name.Name, other)
		}
	}
}
