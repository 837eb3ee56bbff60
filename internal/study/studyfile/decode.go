// Package studyfile reads and writes studies as YAML, and reports the line of every
// problem.
package studyfile

import (
	"fmt"
	"slices"

	yaml "go.yaml.in/yaml/v3"

	"tare/internal/study"
	"tare/internal/study/suggest"
)

// Decode reads a study file and checks every value in it against cat. It fills in
// nothing; see study.Resolve. File is the name used in errors. The error joins one
// *study.Error for each problem, ordered by line; its text has one line for each. Decode
// is safe for untrusted files: it neither panics nor takes long, whatever src contains.
func Decode(file string, src []byte, cat study.Catalog) (study.Study, error) {
	root, err := load(file, src)
	if err != nil {
		return study.Study{}, err
	}
	r := newReader(file, cat)
	var s study.Study
	if root = target(root); root.Kind != yaml.MappingNode {
		r.fail(root.Line, "a study is a mapping of keys such as modes and workloads; this is %s", describe(root))
		return study.Study{}, study.Join(r.errs)
	}
	fields := s.Fields()
	r.mapping(root, fields, "", "", study.Keys(fields))
	for _, p := range study.Check(s, cat, r) {
		r.fail(r.lines[p.Path], "%s", p.Text)
	}
	if err := study.Join(r.errs); err != nil {
		return study.Study{}, err
	}
	return s, nil
}

// reader converts nodes to a study and collects problems. For each path
// (workloads[1].streams) it records the line, and whether the value could not be read.
type reader struct {
	file   string
	cat    study.Catalog
	lines  map[string]int
	failed map[string]bool
	errs   []*study.Error
}

func newReader(file string, cat study.Catalog) *reader {
	return &reader{file: file, cat: cat, lines: map[string]int{}, failed: map[string]bool{}}
}

// Line and Unreadable implement study.Source.
func (r *reader) Line(path string) int { return r.lines[path] }

func (r *reader) Unreadable(path string) bool { return r.failed[path] }

func (r *reader) fail(line int, format string, args ...any) {
	r.errs = append(r.errs, &study.Error{File: r.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// mapping reads the keys of n into fields. Where names the mapping in errors, and allowed
// lists the keys to suggest for an unknown one.
func (r *reader) mapping(n *yaml.Node, fields []study.Field, path, where string, allowed []string) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		line, key := n.Content[i].Line, target(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			r.fail(line, "%s as a key%s; want plain names", describe(key), where)
			continue
		}
		if key.Value == "<<" {
			r.fail(line, `merge key "<<" is not supported; write the keys out, or give single values an alias`)
			continue
		}
		if at, again := first[key.Value]; again {
			r.fail(line, "duplicate key %s%s; it is already on line %d", suggest.Quote(key.Value), where, at)
			continue
		}
		first[key.Value] = line
		f, ok := study.Find(fields, key.Value)
		if !ok {
			r.fail(line, "%s", unknownKey(key.Value, where, fields, allowed))
			continue
		}
		r.lines[path+key.Value] = line
		r.value(target(n.Content[i+1]), f, path+key.Value)
	}
}

// value reads the value of a key.
func (r *reader) value(n *yaml.Node, f study.Field, path string) {
	switch v := f.Value.(type) {
	case study.RatesValue:
		r.rates(n, v, f.Key, path)
	case study.CountsValue:
		if n.Kind == yaml.SequenceNode {
			r.sequence(n, v.All, f.Key, path)
			return
		}
		if !r.convert(n, v.One) {
			r.wrong(n, f.Key, path, v.Want(f.Key))
		}
	case study.Sequence:
		r.sequence(n, v, f.Key, path)
	case study.SideValue:
		r.side(n, v, f.Key, path)
	case study.Items:
		r.items(n, v, f.Key, path)
	case study.Section:
		v.Make()
		if n.Kind != yaml.MappingNode {
			r.wrong(n, f.Key, path, v.Want(f.Key))
			return
		}
		r.mapping(n, v.Fields(), path+".", " in "+f.Key, study.Keys(v.Fields()))
	case study.Texts:
		r.texts(n, v, f.Key, path)
	case study.Plain:
		r.plain(n, v, f.Key, path)
	}
}

// side reads one side of a comparison: a name, or a list of two.
func (r *reader) side(n *yaml.Node, to study.SideValue, key, path string) {
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
		to.Put(study.Side{Of: texts[0], Over: texts[1]})
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		to.Put(study.SideOf(n.Value))
	default:
		r.wrong(n, key, path, to.Want(key))
	}
}

// items reads the items of a list, which must not be empty.
func (r *reader) items(n *yaml.Node, list study.Items, key, path string) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, key, path, list.Want(key))
		return
	}
	if len(n.Content) == 0 {
		r.wrong(n, key, path, "at least one")
	}
	for i, item := range n.Content {
		r.item(item, list, fmt.Sprintf("%s[%d]", path, i))
	}
}

// item reads an item of a list: a mapping or, for modes and workloads, also a plain name.
func (r *reader) item(item *yaml.Node, list study.Items, path string) {
	r.lines[path] = item.Line
	fields, what := list.Add(), list.Name()
	n, wanted := target(item), study.WantMapping(fields)
	if short, _ := list.Short(); short != "" {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
			f, _ := study.Find(fields, short)
			r.convert(n, f.Value.(study.Plain))
			return
		}
		wanted = "a name, or a mapping with " + what + " and " + map[string]string{"workload": "parameters", "mode": "an id, options, an mtu, limits or a lab"}[what]
	}
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "a "+what, path, wanted)
		return
	}
	where, allowed := " in a "+what, study.Keys(fields)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if spec, ok := r.cat.Workload(target(n.Content[i+1]).Value); ok && what == "workload" && target(n.Content[i]).Value == what {
			where, allowed = " in "+spec.Kind, spec.Keys()
		}
	}
	r.mapping(n, fields, path+".", where, allowed)
}

// texts reads a mapping of names to plain values, which are kept as written.
func (r *reader) texts(n *yaml.Node, to study.Texts, key, path string) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.wrong(n, key, path, to.Want(key))
		return
	}
	all := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		line, k, val := n.Content[i].Line, target(n.Content[i]), target(n.Content[i+1])
		_, again := all[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || k.Value == "<<":
			r.fail(line, "%s as a key in %s; want plain names", describe(k), key)
		case again:
			r.fail(line, "duplicate key %s in %s", suggest.Quote(k.Value), key)
		case val.Kind != yaml.ScalarNode || val.ShortTag() == "!!null":
			r.fail(line, "%s in %s is %s; want a plain value", suggest.Quote(k.Value), key, describe(val))
		default:
			all[k.Value] = val.Value
			r.lines[path+"."+k.Value] = line
		}
	}
	to.Put(all)
}

// rates reads the loads of a sweep: a list or a range.
func (r *reader) rates(n *yaml.Node, to study.RatesValue, key, path string) {
	if n.Kind != yaml.MappingNode {
		r.sequence(n, to, key, path)
		return
	}
	var in study.RateRange
	before, fields := len(r.errs), in.Fields()
	r.mapping(n, fields, path+".", " in "+key, study.Keys(fields))
	for _, f := range fields {
		at := path + "." + f.Key
		switch line, said := r.lines[at]; {
		case r.failed[at]:
		case !said:
			r.fail(r.lines[path], "%s without %s; want a mapping with from, to and steps", key, f.Key)
		default:
			if text := f.Check(); text != "" {
				r.fail(line, "%s of %s", text, key)
			}
		}
	}
	if len(r.errs) == before && in.From >= in.To {
		r.fail(r.lines[path+".from"], "from is %s and to %s in %s; want from below to", in.From, in.To, key)
	}
	if len(r.errs) > before {
		r.failed[path] = true
		return
	}
	to.Put(in.List())
}

// sequence reads a list of plain values.
func (r *reader) sequence(n *yaml.Node, to study.Sequence, key, path string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.wrong(n, key, path, to.Want(key))
		return
	}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.lines[at] = item.Line
		if item = target(item); item.Kind != yaml.ScalarNode || !to.Read(literal(item)) {
			r.failed[path] = true
			r.fail(r.lines[at], "%s contains %s; want %s", key, describe(item), to.Want(key))
		}
	}
}

// wrong records a value that has the wrong kind for its key.
func (r *reader) wrong(n *yaml.Node, key, path, want string) {
	r.failed[path] = true
	r.fail(r.lines[path], "%s is %s; want %s", key, describe(n), want)
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// unknownKey is the error for a key that a mapping of fields does not have. If none of
// its own keys is similar, the key may belong to another mapping.
func unknownKey(key, where string, fields []study.Field, allowed []string) string {
	if _, near := suggest.Nearest(key, allowed); near {
		return suggest.Unknown("key", key, where, allowed)
	}
	own := study.Keys(fields)
	for _, home := range []struct {
		fields []study.Field
		place  string
	}{
		{new(study.Study).Fields(), "at the top level"},
		{new(study.Lab).Fields(), "under lab"},
		{new(study.Network).Fields(), "under network"},
		{new(study.Workload).Fields(), "in an entry of workloads"},
		{new(study.Mode).Fields(), "in an entry of modes"},
		{new(study.Scenario).Fields(), "in an entry of scenarios"},
		{new(study.Comparison).Fields(), "in an entry of compare"},
		{new(study.CostByParts).Fields(), "under ladder"},
		{new(study.PartMode).Fields(), "in an entry of rungs or removals of ladder"},
		{new(study.Host).Fields(), "in an entry of hosts"},
		{new(study.Cluster).Fields(), "under cluster"},
		{new(study.Stop).Fields(), "under stop"},
		{new(study.Invalid).Fields(), "under invalid"},
		{new(study.Evidence).Fields(), "under evidence"},
		{new(study.CostPass).Fields(), "under cost_pass"},
		{new(study.Limits).Fields(), "under limits"},
		{new(study.Limit).Fields(), "under client or server of limits"},
	} {
		if keys := study.Keys(home.fields); !slices.Equal(keys, own) && slices.Contains(keys, key) {
			return fmt.Sprintf("unknown key %s%s; it belongs %s", suggest.Quote(key), where, home.place)
		}
	}
	return suggest.Unknown("key", key, where, allowed)
}
