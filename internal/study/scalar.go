package study

import (
	"encoding"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// scalar reads a single value into field f. It takes what YAML says the value
// is and converts nothing: 010, 1_000 and 1e3 are no whole numbers here, since
// readers of YAML disagree about them.
func (r *reader) scalar(n *yaml.Node, f reflect.Value, key, path string) {
	if r.convert(n, f) {
		return
	}
	wanted := want(key, f.Type())
	switch kind := f.Kind(); {
	case key == "workload" && strings.HasPrefix(path, "workloads"):
		wanted = either(r.cat.kinds())
	case number(n) && !decimal(n.Value) && (kind == reflect.Int || kind == reflect.Uint64):
		wanted += ", in plain digits"
	case quotable(n) && kind == reflect.String && len(ruleOf(key).enum) == 0:
		wanted = "text; put it in quotes"
	}
	r.wrong(n, key, path, wanted)
}

// convert sets f to the value of n, if n is of f's kind.
func (r *reader) convert(n *yaml.Node, f reflect.Value) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	tag := n.ShortTag()
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		_, portion := u.(*Portion)
		_, share := u.(*Share)
		return (tag == "!!str" && !portion || tag == "!!int" || (share || portion) && tag == "!!float") && u.UnmarshalText([]byte(n.Value)) == nil
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(n.Value)
		return tag == "!!str"
	case reflect.Bool:
		f.SetBool(strings.EqualFold(n.Value, "true"))
		return tag == "!!bool"
	case reflect.Pointer: // *bool; of those to mappings the reader takes care
		yes := strings.EqualFold(n.Value, "true")
		f.Set(reflect.ValueOf(&yes))
		return tag == "!!bool"
	case reflect.Int:
		i, err := strconv.ParseInt(n.Value, 10, 64)
		ok := tag == "!!int" && err == nil && decimal(n.Value) && !f.OverflowInt(i)
		f.SetInt(i)
		return ok
	case reflect.Uint64:
		u, err := strconv.ParseUint(n.Value, 10, 64)
		f.SetUint(u)
		return tag == "!!int" && err == nil && decimal(n.Value)
	case reflect.Float64:
		x, err := strconv.ParseFloat(n.Value, 64)
		f.SetFloat(x)
		return number(n) && err == nil && !math.IsNaN(x)
	}
	return false
}

// decimal says whether text is a whole number as JSON writes it.
func decimal(text string) bool {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`).MatchString(text)
}

// quotable says whether n would be text if it stood in quotes.
func quotable(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 && n.ShortTag() != "!!null"
}

// number says whether YAML takes n for a number.
func number(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float")
}

// describe says in an error what n is.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		if len(n.Content) == 0 {
			return "an empty mapping"
		}
		return "a mapping"
	case yaml.SequenceNode:
		if len(n.Content) == 0 {
			return "an empty list"
		}
		return "a list"
	}
	switch n.ShortTag() {
	case "!!str":
		return quote(n.Value)
	case "!!null":
		return "empty"
	}
	plain := strings.Trim(quote(n.Value), `"`)
	if n.Style&yaml.TaggedStyle != 0 {
		return strings.Trim(quote(n.ShortTag()), `"`) + " " + plain
	}
	return plain
}
