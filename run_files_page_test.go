package tare_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// docs/run-files.md has every field of run.json and of a line of trials.ndjson, with what the model says of it.
func TestRunFilesPage(t *testing.T) {
	m := modelOf(t)
	var page strings.Builder
	page.WriteString("# Fields of a run's files\n\n*Reference. Answers: what does each field of run.json and trials.ndjson mean?*\n\n" +
		"This page is generated from the model of a run. [Results](results.md) explains how the files are used. Values are in base units; a field that is marked *optional* is absent or null where it is unknown or does not apply.\n")
	todo, done := []string{"Run", "Trial"}, map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if done[name] || m.types[name] == nil {
			continue
		}
		done[name] = true
		todo = append(todo, m.describe(&page, name)...)
	}
	must.Require(t, len(done) >= 40, "only %d types", len(done))
	page.WriteString(machineSection())
	generated(t, "docs/run-files.md", page.String())
}

// model is the types of package result with their comments, and the constants of each.
type model struct {
	types  map[string]ast.Expr
	docs   map[string]string
	values map[string][][2]string // a constant's value and its comment, by type
}

func modelOf(t *testing.T) model {
	t.Helper()
	m := model{map[string]ast.Expr{}, map[string]string{}, map[string][][2]string{}}
	for _, file := range must.Get(filepath.Glob("internal/result/*.go"))(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, d := range must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments))(t).Decls {
			if g, is := d.(*ast.GenDecl); is {
				m.add(g)
			}
		}
	}
	return m
}

func (m model) add(g *ast.GenDecl) {
	for _, s := range g.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			m.types[s.Name.Name], m.docs[s.Name.Name] = s.Type, said(s.Doc, g.Doc)
		case *ast.ValueSpec:
			of, typed := s.Type.(*ast.Ident)
			if !typed || len(s.Values) != 1 {
				continue
			}
			if lit, is := s.Values[0].(*ast.BasicLit); is {
				m.values[of.Name] = append(m.values[of.Name], [2]string{lit.Value, said(s.Comment, s.Doc)})
			}
		}
	}
}

// said is the first comment that there is, on one line.
func said(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return strings.Join(strings.Fields(g.Text()), " ")
		}
	}
	return ""
}

// describe writes a type and returns the types of its fields.
func (m model) describe(page *strings.Builder, name string) (next []string) {
	title := map[string]string{"Run": "Run: run.json", "Trial": "Trial: a line of trials.ndjson"}[name]
	if title == "" {
		title = name
	}
	fmt.Fprintf(page, "\n## %s\n\n", title)
	fields := m.fields(m.types[name])
	if text := m.docs[name]; text != "" {
		fmt.Fprintf(page, "%s\n\n", inWords(text, fields))
	}
	if len(fields) == 0 {
		page.WriteString("| value | meaning |\n|---|---|\n")
		for _, v := range m.values[name] {
			fmt.Fprintf(page, "| `%s` | %s |\n", strings.Trim(v[0], `"`), cell(inWords(v[1], nil)))
		}
		return nil
	}
	page.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, f := range fields {
		kind, types := m.kind(f.of)
		if f.optional {
			kind += ", optional"
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", f.key, kind, cell(inWords(f.doc, fields)))
		next = append(next, types...)
	}
	return next
}

// modelField is a field as JSON has it.
type modelField struct {
	name, key, doc string
	optional       bool
	of             ast.Expr
}

func (m model) fields(of ast.Expr) (out []modelField) {
	s, is := of.(*ast.StructType)
	if !is {
		return nil
	}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 { // embedded
			if id, is := f.Type.(*ast.Ident); is {
				out = append(out, m.fields(m.types[id.Name])...)
			}
			continue
		}
		tag := ""
		if f.Tag != nil {
			raw, _ := strconv.Unquote(f.Tag.Value)
			tag = reflect.StructTag(raw).Get("json")
		}
		key, options, _ := strings.Cut(tag, ",")
		if key == "-" || key == "" {
			continue
		}
		_, pointer := f.Type.(*ast.StarExpr)
		out = append(out, modelField{f.Names[0].Name, key, said(f.Doc, f.Comment), pointer || strings.Contains(options, "omit"), f.Type})
	}
	return out
}

// kind words a type, with links to those of the page, which it also returns.
func (m model) kind(of ast.Expr) (text string, types []string) {
	switch of := of.(type) {
	case *ast.StarExpr:
		return m.kind(of.X)
	case *ast.ArrayType:
		text, types = m.kind(of.Elt)
		return "list of " + text, types
	case *ast.MapType:
		text, types = m.kind(of.Value)
		return "mapping of names to " + text, types
	case *ast.SelectorExpr:
		return "time", nil
	case *ast.Ident:
		switch {
		case m.types[of.Name] == nil:
			return map[string]string{"string": "text", "bool": "true or false"}[of.Name] + map[bool]string{true: "number"}[of.Name != "string" && of.Name != "bool"], nil
		case m.fields(m.types[of.Name]) == nil && m.values[of.Name] == nil:
			return m.kind(m.types[of.Name])
		}
		return fmt.Sprintf("[%s](#%s)", of.Name, strings.ToLower(anchor(of.Name))), []string{of.Name}
	}
	return "value", nil
}

func anchor(name string) string {
	switch name {
	case "Run":
		return "run-runjson"
	case "Trial":
		return "trial-a-line-of-trialsndjson"
	}
	return name
}

var (
	reference = regexp.MustCompile(`\[([A-Za-z.]+)\]`)
	absent    = regexp.MustCompile(`\bnil\b`)
)

// inWords is a comment with the names of fields as JSON has them.
func inWords(text string, fields []modelField) string {
	const mark = "\x00" // of a name that is no field
	text = absent.ReplaceAllString(reference.ReplaceAllString(text, mark+"$1"), "absent")
	sorted := slices.Clone(fields)
	slices.SortFunc(sorted, func(a, b modelField) int { return len(b.name) - len(a.name) })
	for _, f := range sorted {
		text = regexp.MustCompile("(^|[^`\\w."+mark+"])"+f.name+`\b`).ReplaceAllString(text, "${1}`"+f.key+"`")
	}
	return strings.ReplaceAll(text, mark, "")
}
