package study

import (
	"fmt"
	"reflect"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Decode reads a study file and checks every value in it against cat. It fills
// in nothing: see Resolve. File is the name used in errors.
//
// The error joins one *Error for each problem, ordered by line; its text has
// one line for each. Decode is made for files from anywhere: it neither panics
// nor takes long, whatever src holds.
func Decode(file string, src []byte, cat Catalog) (Study, error) {
	root, err := load(file, src)
	if err != nil {
		return Study{}, err
	}
	r := reader{file: file, cat: cat, src: source{lines: map[string]int{}, failed: map[string]bool{}}}
	var s Study
	if root = target(root); root.Kind != yaml.MappingNode {
		r.fail(root.Line, "a study is a mapping of keys such as modes and workloads; this is %s", describe(root))
		return Study{}, join(r.errs)
	}
	v := reflect.ValueOf(&s).Elem()
	r.mapping(root, v, "", "", keys(v.Type()))
	for _, p := range validate(s, cat, &r.src) {
		r.fail(r.src.lines[p.path], "%s", p.text)
	}
	if err := join(r.errs); err != nil {
		return Study{}, err
	}
	return s, nil
}

// source is what the file said about each path (workloads[1].streams): the line
// it stands on, and whether it could not be read at all.
type source struct {
	lines  map[string]int
	failed map[string]bool
}

// reader turns nodes into a Study and notes what is wrong on the way.
type reader struct {
	file string
	cat  Catalog
	src  source
	errs []*Error
}

func (r *reader) fail(line int, format string, args ...any) {
	r.errs = append(r.errs, &Error{File: r.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// mapping reads the keys of n into struct v. Where names the mapping in errors,
// and allowed lists the keys to suggest for an unknown one.
func (r *reader) mapping(n *yaml.Node, v reflect.Value, path, where string, allowed []string) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		line, key := n.Content[i].Line, target(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			r.fail(line, "%s as a key%s; allowed: plain names", describe(key), where)
			continue
		}
		if key.Value == "<<" {
			r.fail(line, `merge key "<<" is not supported; write the keys out, or give single values an alias`)
			continue
		}
		if at, again := first[key.Value]; again {
			r.fail(line, "duplicate key %s%s; it stands on line %d already", quote(key.Value), where, at)
			continue
		}
		first[key.Value] = line
		f, ok := member(v, key.Value)
		if !ok {
			r.fail(line, "%s", unknownKey(key.Value, where, v.Type(), allowed))
			continue
		}
		r.src.lines[path+key.Value] = line
		r.value(target(n.Content[i+1]), f, key.Value, path+key.Value)
	}
}

// value reads the value of a key into field f.
func (r *reader) value(n *yaml.Node, f reflect.Value, key, path string) {
	switch {
	case f.Type() == reflect.TypeFor[Rates]():
		r.rates(n, f, key, path)
		return
	case plainList(f.Type()):
		r.scalars(n, f, key, path)
		return
	}
	if side, ok := f.Addr().Interface().(*Side); ok {
		r.side(n, side, key, path)
		return
	}
	if f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	switch f.Kind() {
	case reflect.Slice:
		r.list(n, f, key, path)
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			r.wrong(n, key, path, want(key, f.Type()))
			return
		}
		r.mapping(n, f, path+".", " in "+key, keys(f.Type()))
	case reflect.Map:
		r.texts(n, f, key, path)
	default:
		r.scalar(n, f, key, path)
	}
}

// side reads one side of a comparison: a name, or a list of two.
func (r *reader) side(n *yaml.Node, to *Side, key, path string) {
	names := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		names = n.Content
	}
	var texts []string
	for _, n := range names {
		if n = target(n); n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Value != "" {
			texts = append(texts, n.Value)
		}
	}
	switch {
	case n.Kind == yaml.SequenceNode && len(texts) == 2 && len(names) == 2:
		*to = Side{Of: texts[0], Over: texts[1]}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		*to = Side{Of: n.Value}
	default:
		r.wrong(n, key, path, want(key, reflect.TypeFor[Side]()))
	}
}

// list reads the items of a list, which must be one and have some.
func (r *reader) list(n *yaml.Node, f reflect.Value, key, path string) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, key, path, want(key, f.Type()))
		return
	}
	if len(n.Content) == 0 {
		r.wrong(n, key, path, "at least one")
	}
	for i, item := range n.Content {
		v := reflect.New(f.Type().Elem()).Elem()
		r.item(item, v, fmt.Sprintf("%s[%d]", path, i))
		f.Set(reflect.Append(f, v))
	}
}

// item reads an item of a list into v: a mapping or, of modes and workloads, a
// plain name as well.
func (r *reader) item(item *yaml.Node, v reflect.Value, path string) {
	r.src.lines[path] = item.Line
	n, what, wanted := target(item), itemName(v.Type()), "a mapping with "+strings.Join(keys(v.Type()), ", ")
	if named, ok := member(v, what); ok {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
			named.SetString(n.Value)
			return
		}
		wanted = "a name, or a mapping with " + what + " and " + map[string]string{"workload": "parameters", "mode": "an id, options, an mtu, limits or a lab"}[what]
	}
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "a "+what, path, wanted)
		return
	}
	where, allowed := " in a "+what, keys(v.Type())
	for i := 0; i+1 < len(n.Content); i += 2 {
		if spec, ok := r.cat.Workload(target(n.Content[i+1]).Value); ok && what == "workload" && target(n.Content[i]).Value == what {
			where, allowed = " in "+spec.Kind, spec.keys()
		}
	}
	r.mapping(n, v, path+".", where, allowed)
}

// texts reads a mapping of names to plain values, which are kept as they are
// written.
func (r *reader) texts(n *yaml.Node, f reflect.Value, key, path string) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.wrong(n, key, path, want(key, f.Type()))
		return
	}
	all := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		line, k, val := n.Content[i].Line, target(n.Content[i]), target(n.Content[i+1])
		_, again := all[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || k.Value == "<<":
			r.fail(line, "%s as a key in %s; allowed: plain names", describe(k), key)
		case again:
			r.fail(line, "duplicate key %s in %s", quote(k.Value), key)
		case val.Kind != yaml.ScalarNode || val.ShortTag() == "!!null":
			r.fail(line, "%s in %s is %s; want a plain value", quote(k.Value), key, describe(val))
		default:
			all[k.Value] = val.Value
			r.src.lines[path+"."+k.Value] = line
		}
	}
	f.Set(reflect.ValueOf(all))
}

// wrong notes a value that is not of the kind its key takes.
func (r *reader) wrong(n *yaml.Node, key, path, want string) {
	r.src.failed[path] = true
	r.fail(r.src.lines[path], "%s is %s; want %s", key, describe(n), want)
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
