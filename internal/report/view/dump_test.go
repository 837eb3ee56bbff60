package view

import (
	"fmt"
	"reflect"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/wording"
)

// dump is a document as text that can be reviewed: a line a block, a row or an item, with all of its fields that are
// set, and what it holds deeper below it. Cells stand on the line of their row.
func dump(d doc.Document) string {
	var p dumper
	p.value(reflect.ValueOf(d))
	return p.String()
}

// mostDumped is how many columns of a line are kept: a few hundred bytes of hostile text
// are as good as all.
const mostDumped = 600

type dumper struct {
	strings.Builder
	depth int
}

func (p *dumper) value(v reflect.Value) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch b := v.Interface().(type) {
	case doc.Later:
		p.values(reflect.ValueOf(b()))
		return
	case doc.Only:
		if b.For == 0 || len(doc.For(b.For, b.Blocks)) == 0 {
			p.values(reflect.ValueOf(b.Blocks))
			return
		}
	case chart.Figure: // what it looks like is in its own golden files
		v = reflect.ValueOf(struct{ Drawing, Desc string }{b.Title, b.Desc})
	case chart.Topology:
		v = reflect.ValueOf(struct{ Drawing, Desc string }{b.Title, b.Desc})
	}
	text, deeper := fields(v)
	line := strings.Repeat("  ", p.depth) + strings.TrimSpace(strings.ToLower(v.Type().Name())+" "+text)
	p.WriteString(strings.TrimRight(wording.Cut(line, mostDumped), " ") + "\n")
	p.depth++
	for _, f := range deeper {
		if f.Kind() == reflect.Slice {
			p.values(f)
		} else {
			p.value(f)
		}
	}
	p.depth--
}

func (p *dumper) values(list reflect.Value) {
	for i := range list.Len() {
		p.value(list.Index(i))
	}
}

// fields are those of a struct that are set: as text, and those that stand on lines of their own.
func fields(v reflect.Value) (text string, deeper []reflect.Value) {
	var set []string
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			continue
		}
		_, cells := f.Interface().([]doc.Cell)
		table := f.Type() == reflect.TypeFor[*doc.Table]()
		if kind := f.Kind(); table || kind == reflect.Slice && f.Type().Elem().Kind() != reflect.String && !cells {
			deeper = append(deeper, f)
			continue
		}
		set = append(set, v.Type().Field(i).Name+"="+inline(f))
	}
	return strings.Join(set, " "), deeper
}

func inline(f reflect.Value) string {
	switch x := f.Interface().(type) {
	case doc.Media:
		var names []string
		for i, name := range []string{"terminal", "markdown", "html"} {
			if x&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		return strings.Join(names, "+")
	case *float64:
		return fmt.Sprintf("%.3f", *x)
	case []string:
		return "[" + strings.Join(x, "; ") + "]"
	case []doc.Cell:
		var cells []string
		for _, c := range x {
			text, _ := fields(reflect.ValueOf(c))
			cells = append(cells, text)
		}
		return "[" + strings.Join(cells, " | ") + "]"
	}
	switch f.Kind() {
	case reflect.Pointer:
		return inline(f.Elem())
	case reflect.Struct:
		text, _ := fields(f)
		return "{" + text + "}"
	}
	return fmt.Sprint(f.Interface())
}
