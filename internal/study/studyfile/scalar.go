package studyfile

import (
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"tare/internal/study"
	"tare/internal/study/suggest"
)

// plain reads a single value.
func (r *reader) plain(n *yaml.Node, to study.Plain, key, path string) {
	if r.convert(n, to) {
		return
	}
	wanted, rule := to.Want(key), to.Rule()
	switch {
	case key == "workload" && strings.HasPrefix(path, "workloads"):
		wanted = suggest.Either(r.cat.Kinds())
	case number(n) && !study.Decimal(n.Value) && rule.Digits:
		wanted += ", in plain digits"
	case quotable(n) && rule.JSON == "string" && len(rule.Enum) == 0:
		wanted = "text; put it in quotes"
	}
	r.wrong(n, key, path, wanted)
}

// convert reads the value of n, if n has the kind of the key.
func (r *reader) convert(n *yaml.Node, to study.Plain) bool {
	return n.Kind == yaml.ScalarNode && to.Read(literal(n))
}

// literal is the YAML type and text of a scalar.
func literal(n *yaml.Node) study.Literal {
	kinds := map[string]study.LiteralKind{
		"!!str": study.TextLiteral, "!!int": study.WholeLiteral, "!!float": study.FractionLiteral, "!!bool": study.TruthLiteral,
	}
	return study.Literal{Kind: kinds[n.ShortTag()], Text: n.Value}
}

// quotable reports whether n would be text if it were quoted.
func quotable(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 && n.ShortTag() != "!!null"
}

// number reports whether YAML reads n as a number.
func number(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float")
}

// describe describes n in an error.
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
		return suggest.Quote(n.Value)
	case "!!null":
		return "empty"
	}
	plain := strings.Trim(suggest.Quote(n.Value), `"`)
	if n.Style&yaml.TaggedStyle != 0 {
		return strings.Trim(suggest.Quote(n.ShortTag()), `"`) + " " + plain
	}
	return plain
}
