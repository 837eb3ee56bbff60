package study

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema gives the JSON Schema (draft 2020-12) of study files, for editors. It
// is made of the same types and rules as Decode, with the names in cat. What it
// cannot say, Decode alone refuses: a quantity written with a unit that is out of
// range, two of one id, an id that is another's name, limits and options of modes
// that take none, and scenarios and comparisons of what the study does not have.
func Schema(cat Catalog) ([]byte, error) {
	root, err := object(reflect.TypeFor[Study]())
	if err != nil {
		return nil, err
	}
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "tare study"
	root.Description = "What to weigh, with which traffic, how often."
	root.Properties["profile"].Default = asJSON(Quick)
	if root.Properties["modes"], err = modesSchema(cat, root.Properties["modes"].Description); err != nil {
		return nil, err
	}
	root.Defs = map[string]*jsonschema.Schema{}
	items := []*jsonschema.Schema{{Type: "string", Enum: anys(cat.kinds())}}
	for _, spec := range cat.Workloads {
		if spec.Planned != "" {
			items[0].Enum = append(items[0].Enum, spec.Kind)
			continue
		}
		if root.Defs[spec.Kind], err = workloadSchema(spec); err != nil {
			return nil, err
		}
		items = append(items, &jsonschema.Schema{Ref: "#/$defs/" + spec.Kind})
	}
	root.Properties["workloads"] = list(root.Properties["workloads"].Description, &jsonschema.Schema{OneOf: items})
	for _, key := range []string{"scenarios", "compare", "hosts"} {
		f, _ := reflect.TypeFor[Study]().FieldByNameFunc(func(name string) bool { return strings.ToLower(name) == key })
		item, err := object(f.Type.Elem())
		if err != nil {
			return nil, err
		}
		for side := range item.Properties {
			if key == "compare" && (side == "a" || side == "b") {
				item.Properties[side] = sideSchema(item.Properties[side].Description)
			}
		}
		root.Properties[key] = list(root.Properties[key].Description, item)
	}
	root.Properties["hosts"].MinItems, root.Properties["hosts"].MaxItems = jsonschema.Ptr(2), jsonschema.Ptr(2)
	if root.Properties["limits"], err = limitsSchema(root.Properties["limits"].Description); err != nil {
		return nil, err
	}
	for key, part := range map[string]any{"lab": labDefaults(), "stop": stopDefaults(), "invalid": InvalidDefaults(), "evidence": evidenceDefaults(), "cost_pass": passDefaults(Standard)} {
		if root.Properties[key], err = partSchema(root.Properties[key].Description, part); err != nil {
			return nil, err
		}
	}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of study files: %w", err)
	}
	return append(out, '\n'), nil
}

// partSchema is the schema of a mapping of plain values with their defaults.
func partSchema(description string, defaults any) (*jsonschema.Schema, error) {
	s, err := object(reflect.TypeOf(defaults))
	if err != nil {
		return nil, err
	}
	s.Description = description
	setDefaults(s, reflect.ValueOf(defaults))
	return s, nil
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

// modesSchema is the schema of the list of modes.
func modesSchema(cat Catalog, description string) (*jsonschema.Schema, error) {
	name := &jsonschema.Schema{Type: "string"}
	var patterns []*jsonschema.Schema
	for _, m := range cat.Modes {
		if prefix, open := strings.CutSuffix(m.ID, anyName); open {
			patterns = append(patterns, &jsonschema.Schema{Type: "string", Pattern: "^" + regexp.QuoteMeta(prefix) + ":" + userName + "$"})
		} else {
			name.Enum = append(name.Enum, m.ID)
		}
	}
	if len(patterns) > 0 {
		name = &jsonschema.Schema{AnyOf: append([]*jsonschema.Schema{name}, patterns...)}
	}
	mode, err := object(reflect.TypeFor[Mode]())
	if err != nil {
		return nil, err
	}
	named := *name
	named.Description = mode.Properties["mode"].Description
	mode.Properties["mode"] = &named
	mode.Properties["options"] = &jsonschema.Schema{
		Description: mode.Properties["options"].Description, Type: "object",
		MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(maxOptions),
		AdditionalProperties: &jsonschema.Schema{Types: []string{"string", "number", "boolean"}},
	}
	if mode.Properties["limits"], err = limitsSchema(mode.Properties["limits"].Description); err != nil {
		return nil, err
	}
	if mode.Properties["lab"], err = partSchema(mode.Properties["lab"].Description, Lab{}); err != nil {
		return nil, err
	}
	return list(description, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{name, mode}}), nil
}

// limitsSchema is the schema of the limits of both ends.
func limitsSchema(description string) (*jsonschema.Schema, error) {
	s, err := object(reflect.TypeFor[Limits]())
	if err != nil {
		return nil, err
	}
	s.Description = description
	for _, f := range fields(reflect.TypeFor[Limits]()) {
		end, err := object(f.typ)
		if err != nil {
			return nil, err
		}
		end.Description = s.Properties[f.key].Description
		s.Properties[f.key] = end
	}
	return s, nil
}

// workloadSchema is the schema of a workload of one kind, with its parameters.
func workloadSchema(spec WorkloadSpec) (*jsonschema.Schema, error) {
	s, err := object(reflect.TypeFor[Workload]())
	if err != nil {
		return nil, err
	}
	all := s.Properties
	s.Properties = map[string]*jsonschema.Schema{}
	s.PropertyOrder = spec.keys()
	for _, key := range spec.keys() {
		p, ok := all[key]
		if !ok {
			return nil, fmt.Errorf("catalog: %s is said to take %q, which no study has", spec.Kind, key)
		}
		s.Properties[key] = p
	}
	s.Properties["workload"] = &jsonschema.Schema{
		Description: all["workload"].Description,
		Const:       jsonschema.Ptr(any(spec.Kind)),
	}
	setDefaults(s, reflect.ValueOf(spec.Defaults))
	return s, nil
}

// object is the schema of a struct, with the rule of every key that has one.
func object(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	for _, f := range fields(t) {
		if plainList(f.typ) {
			if s.Properties[f.key], err = plainListSchema(f, s.Properties[f.key].Description); err != nil {
				return nil, err
			}
		}
		if leaf(f.typ) && ruleOf(f.key).words != "a name" {
			s.Properties[f.key] = value(f.key, f.typ, s.Properties[f.key].Description)
		}
	}
	return s, nil
}

// plainListSchema is the schema of a list of plain values; of a range of rates as well.
func plainListSchema(f field, description string) (*jsonschema.Schema, error) {
	s := list(description, value(f.key, f.typ.Elem(), ""))
	s.Items.Description = ""
	if f.typ != reflect.TypeFor[Rates]() {
		return s, nil
	}
	span, err := object(reflect.TypeFor[rateRange]())
	if err != nil {
		return nil, err
	}
	s.Description = ""
	return &jsonschema.Schema{Description: description, AnyOf: []*jsonschema.Schema{s, span}}, nil
}

// value is the schema of one value.
func value(key string, t reflect.Type, description string) *jsonschema.Schema {
	r := ruleOf(key)
	number := &jsonschema.Schema{Type: "integer", Minimum: &r.min, Maximum: &r.max}
	s := number
	switch t {
	case reflect.TypeFor[Duration]():
		// Its one plain number is 0; no other has a unit.
		s = spelt(durationPattern)
		if r.min == 0 {
			s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "integer", Const: jsonschema.Ptr(any(0))}}}
		}
	case reflect.TypeFor[Size]():
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, spelt(sizePattern)}}
	case reflect.TypeFor[BufferSize]():
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, spelt(bufferPattern)}}
	case reflect.TypeFor[Rate]():
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, spelt(ratePattern)}}
	case reflect.TypeFor[Load]():
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, spelt(loadPattern)}}
	case reflect.TypeFor[PassRate]():
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, spelt(passPattern)}}
	case reflect.TypeFor[Share]():
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, {Type: "string", Const: jsonschema.Ptr(any(Off))}}}
	case reflect.TypeFor[Renew]():
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, spelt(renewPattern)}}
	case reflect.TypeFor[*bool](), reflect.TypeFor[bool]():
		s = &jsonschema.Schema{Type: "boolean"}
	}
	switch t.Kind() {
	case reflect.String:
		s = &jsonschema.Schema{Type: "string", Pattern: r.pattern, Enum: anys(r.enum)}
		if r.runes > 0 {
			s.MaxLength = &r.runes
		}
	case reflect.Float64:
		number.Type = "number"
	}
	s.Description = description
	if len(s.AnyOf) > 0 || s.Pattern != "" {
		s.Description += "; " + want(key, t)
	}
	return s
}

// spelt is the schema of a quantity written as text.
func spelt(pattern string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern, MaxLength: jsonschema.Ptr(maxUnitText)}
}

// setDefaults notes the values of v that are set as the defaults of their keys.
func setDefaults(s *jsonschema.Schema, v reflect.Value) {
	for _, f := range fields(v.Type()) {
		if p, ok := s.Properties[f.key]; ok && !v.Field(f.index).IsZero() {
			p.Default = asJSON(v.Field(f.index).Interface())
		}
	}
}

// asJSON writes a default; the types of a study cannot fail to be written.
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
