package studyfile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"tare/internal/study"
	"tare/internal/study/quantity"
)

// makeSchema gives the JSON Schema (draft 2020-12) of study files, for editors. It
// is made of the same types and rules as Decode, with the names in cat. What it
// cannot say, Decode alone refuses: a quantity written with a unit that is out of
// range, two of one id, an id that is another's name, limits and options of modes
// that take none, and scenarios and comparisons of what the study does not have.
func makeSchema(cat study.Catalog) ([]byte, error) {
	var all study.Study
	all.Lab, all.Stop, all.Invalid, all.Evidence, all.CostPass = study.SchemaDefaults()
	root := object(all.Fields())
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "tare study"
	root.Description = "What to measure, with which traffic, how often."
	root.Properties["profile"].Default = asJSON(study.Quick)
	root.Properties["modes"] = modesSchema(cat, root.Properties["modes"])
	root.Defs = map[string]*jsonschema.Schema{}
	items := []*jsonschema.Schema{{Type: "string", Enum: anys(cat.Kinds())}}
	for _, spec := range cat.Workloads {
		def, err := workloadSchema(spec)
		if err != nil {
			return nil, err
		}
		root.Defs[spec.Kind] = def
		items = append(items, &jsonschema.Schema{Ref: "#/$defs/" + spec.Kind})
	}
	root.Properties["workloads"] = list(root.Properties["workloads"].Description, &jsonschema.Schema{OneOf: items})
	root.Properties["hosts"] = hostsSchema(root.Properties["hosts"])
	for key, defaults := range map[string][]study.Field{"lab": all.Lab.Fields(), "stop": all.Stop.Fields(), "invalid": all.Invalid.Fields(), "evidence": all.Evidence.Fields(), "cost_pass": all.CostPass.Fields()} {
		setDefaults(root.Properties[key], defaults)
	}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of study files: %w", err)
	}
	return append(out, '\n'), nil
}

// hostsSchema is the schema of the list of hosts, made of that of a list of mappings: two
// engines with their addresses, or two machines.
func hostsSchema(hosts *jsonschema.Schema) *jsonschema.Schema {
	hosts.MinItems, hosts.MaxItems = jsonschema.Ptr(2), jsonschema.Ptr(2)
	only := func(without string, required ...string) *jsonschema.Schema {
		each := *hosts.Items
		each.Properties, each.PropertyOrder, each.Required = maps.Clone(each.Properties), slices.DeleteFunc(slices.Clone(each.PropertyOrder), func(key string) bool { return key == without }), required
		delete(each.Properties, without)
		return &each
	}
	hosts.AnyOf = []*jsonschema.Schema{{Items: only("machine", "engine", "address")}, {Items: only("engine", "machine")}}
	hosts.Items = nil
	return hosts
}

// sideSchema is the schema of one side of a comparison.
func sideSchema(description string) *jsonschema.Schema {
	name := &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
	two := &jsonschema.Schema{Type: "array", MinItems: jsonschema.Ptr(2), MaxItems: jsonschema.Ptr(2), UniqueItems: true, Items: name}
	return &jsonschema.Schema{Description: description, OneOf: []*jsonschema.Schema{name, two}}
}

// list is the schema of a list with at least one item, and none twice.
func list(description string, item *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Description: description, Type: "array", MinItems: jsonschema.Ptr(1), UniqueItems: true, Items: item}
}

// modesSchema is the schema of the list of modes, made of that of a list of mappings.
func modesSchema(cat study.Catalog, modes *jsonschema.Schema) *jsonschema.Schema {
	name := &jsonschema.Schema{Type: "string"}
	var patterns []*jsonschema.Schema
	for _, m := range cat.Modes {
		if m.Removed {
			continue
		}
		if prefix, open := study.OpenName(m.ID); open {
			patterns = append(patterns, &jsonschema.Schema{Type: "string", Pattern: "^" + regexp.QuoteMeta(prefix) + ":" + study.UserName + "$"})
		} else {
			name.Enum = append(name.Enum, m.ID)
		}
	}
	if len(patterns) > 0 {
		name = &jsonschema.Schema{AnyOf: append([]*jsonschema.Schema{name}, patterns...)}
	}
	mode, named := modes.Items, *name
	named.Description = mode.Properties["mode"].Description
	mode.Properties["mode"] = &named
	return list(modes.Description, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{name, mode}})
}

// workloadSchema is the schema of a workload of one kind, with its parameters.
func workloadSchema(spec study.WorkloadSpec) (*jsonschema.Schema, error) {
	s := object(spec.Defaults.Fields())
	all := s.Properties
	s.Properties = map[string]*jsonschema.Schema{}
	s.PropertyOrder = spec.Keys()
	for _, key := range spec.Keys() {
		p, ok := all[key]
		if !ok {
			return nil, fmt.Errorf("catalog: %s takes %q, which is not a key of studies", spec.Kind, key)
		}
		s.Properties[key] = p
	}
	s.Properties["workload"] = &jsonschema.Schema{
		Description: all["workload"].Description,
		Const:       jsonschema.Ptr(any(spec.Kind)),
	}
	setDefaults(s, spec.Defaults.Fields())
	return s, nil
}

// object is the schema of a mapping.
func object(fields []study.Field) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, PropertyOrder: study.Keys(fields),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range fields {
		s.Properties[f.Key] = value(f)
		if f.Required {
			s.Required = append(s.Required, f.Key)
		}
	}
	return s
}

// value is the schema of the value of a key.
func value(f study.Field) *jsonschema.Schema {
	switch v := f.Value.(type) {
	case study.Section:
		s := object(v.Fields())
		s.Description = f.Doc
		return s
	case study.Items:
		return list(f.Doc, object(v.New()))
	case study.SideValue:
		return sideSchema(f.Doc)
	case study.Texts:
		return &jsonschema.Schema{
			Description: f.Doc, Type: "object", MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(study.MaxOptions),
			AdditionalProperties: &jsonschema.Schema{Types: []string{"string", "number", "boolean"}},
		}
	case study.RatesValue:
		return &jsonschema.Schema{Description: f.Doc, AnyOf: []*jsonschema.Schema{sequence("", v), object(new(study.RateRange).Fields())}}
	case study.CountsValue:
		return &jsonschema.Schema{Description: f.Doc, AnyOf: []*jsonschema.Schema{plain(v.One, ""), sequence("", v.All)}}
	case study.Sequence:
		return sequence(f.Doc, v)
	case study.Plain:
		return plain(v, f.Doc)
	}
	return nil
}

// sequence is the schema of a list of plain values.
func sequence(description string, v study.Sequence) *jsonschema.Schema {
	item := plain(v.At(v.Len()), "")
	item.Description = ""
	return list(description, item)
}

// plain is the schema of one value.
func plain(v study.Plain, description string) *jsonschema.Schema {
	r := v.Rule()
	if r.Name {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	s := &jsonschema.Schema{Type: r.JSON}
	switch r.JSON {
	case "string":
		if r.Number {
			s.Type, s.Types = "", []string{"string", "number"}
		}
		s.Pattern, s.Enum = r.Pattern, anys(r.Enum)
		if r.Runes > 0 {
			s.MaxLength = &r.Runes
		}
	case "integer", "number":
		s.Minimum, s.Maximum = &r.Min, &r.Max
	}
	switch {
	case r.Spelling != "" && r.JSON != "":
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, spelt(r.Spelling)}}
	case r.Spelling != "" && r.Min == 0: // a duration, whose one plain number is 0: no other has a unit
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{spelt(r.Spelling), {Type: "integer", Const: jsonschema.Ptr(any(0))}}}
	case r.Spelling != "":
		s = spelt(r.Spelling)
	case r.Word != "":
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "string", Const: jsonschema.Ptr(any(r.Word))}}}
	}
	s.Description = description
	if len(s.AnyOf) > 0 || s.Pattern != "" {
		s.Description += "; " + r.Want()
	}
	return s
}

// spelt is the schema of a quantity written as text.
func spelt(pattern string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern, MaxLength: jsonschema.Ptr(quantity.MaxText)}
}

// setDefaults notes the values that are set as the defaults of their keys.
func setDefaults(s *jsonschema.Schema, fields []study.Field) {
	for _, f := range fields {
		if p, ok := s.Properties[f.Key]; ok && !f.Value.IsZero() {
			p.Default = asJSON(written(f.Value))
		}
	}
}

// written is a value as JSON has it: a number with a unit of its own is a text.
func written(v study.Value) any {
	switch v := v.(type) {
	case study.CountsValue:
		return written(v.Part())
	case study.Plain:
		if v.Rule().Spelling != "" {
			return v.String()
		}
		return v.Native()
	case study.Sequence:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = written(v.At(i))
		}
		return all
	}
	return nil
}

// asJSON writes a default; the values of a study cannot fail to be written.
func asJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// anys is nil for no names, so that no enum is written.
func anys(names []string) []any {
	var all []any
	for _, n := range names {
		all = append(all, n)
	}
	return all
}
