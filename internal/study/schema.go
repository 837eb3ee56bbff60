package study

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema gives the JSON Schema (draft 2020-12) of study files, for editors. It
// is made of the same types and rules as Decode, with the names in cat. Three
// things it cannot say, and Decode alone refuses: a quantity written with a
// unit that is out of range, two workloads of one id, an id that is another
// workload's name.
func Schema(cat Catalog) ([]byte, error) {
	root, err := object(reflect.TypeFor[Study]())
	if err != nil {
		return nil, err
	}
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "tare study"
	root.Description = "What to weigh, with which traffic, how often."
	root.Properties["profile"].Default = asJSON(Quick)
	root.Properties["modes"] = &jsonschema.Schema{
		Description: root.Properties["modes"].Description,
		Type:        "array",
		MinItems:    jsonschema.Ptr(1),
		UniqueItems: true,
		Items:       &jsonschema.Schema{Type: "string", Enum: anys(cat.modeIDs())},
	}
	root.Defs = map[string]*jsonschema.Schema{}
	items := []*jsonschema.Schema{{Type: "string", Enum: anys(cat.kinds())}}
	for _, spec := range cat.Workloads {
		if root.Defs[spec.Kind], err = workloadSchema(spec); err != nil {
			return nil, err
		}
		items = append(items, &jsonschema.Schema{Ref: "#/$defs/" + spec.Kind})
	}
	root.Properties["workloads"] = &jsonschema.Schema{
		Description: root.Properties["workloads"].Description,
		Type:        "array",
		MinItems:    jsonschema.Ptr(1),
		UniqueItems: true,
		Items:       &jsonschema.Schema{OneOf: items},
	}
	lab, err := object(reflect.TypeFor[Lab]())
	if err != nil {
		return nil, err
	}
	lab.Description = root.Properties["lab"].Description
	setDefaults(lab, reflect.ValueOf(labDefaults()))
	root.Properties["lab"] = lab
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema of study files: %w", err)
	}
	return append(out, '\n'), nil
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
		if leaf(f.typ) && f.key != "workload" {
			s.Properties[f.key] = value(f.key, f.typ, s.Properties[f.key].Description)
		}
	}
	return s, nil
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
	case reflect.TypeFor[*bool]():
		s = &jsonschema.Schema{Type: "boolean"}
	}
	switch t.Kind() {
	case reflect.String:
		s = &jsonschema.Schema{Type: "string", Pattern: r.pattern, Enum: anys(r.enum)}
		if r.runes > 0 {
			s.MaxLength = &r.runes
		}
	case reflect.Float64:
		s.Type = "number"
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
