package studyfile

import (
	"bytes"
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"tare/internal/study"
)

// Marshal writes s as a study file. Decode reads the same value back, for resolved and
// unresolved studies.
func Marshal(s study.Study) ([]byte, error) {
	root, err := mappingNode(s.Fields())
	if err != nil {
		return nil, fmt.Errorf("write study %q: %w", s.Name, err)
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write study %q: %w", s.Name, err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write study %q: %w", s.Name, err)
	}
	return buf.Bytes(), nil
}

// mappingNode writes the fields that are set.
func mappingNode(fields []study.Field) (*yaml.Node, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields {
		if f.Value.IsZero() && !f.Required {
			continue
		}
		n, err := valueNode(f.Value)
		if err != nil {
			return nil, err
		}
		key, err := scalarNode(f.Key)
		if err != nil {
			return nil, err
		}
		root.Content = append(root.Content, key, n)
	}
	return root, nil
}

func valueNode(v study.Value) (*yaml.Node, error) {
	switch v := v.(type) {
	case study.CountsValue:
		return valueNode(v.Part())
	case study.Plain:
		if _, number := v.Native().(float64); number && v.Rule().Word != "" {
			// Whole numbers have a tag (!!float 1), as in earlier versions.
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: v.String()}, nil
		}
		return scalarNode(v.Native())
	case study.Section:
		return mappingNode(v.Fields())
	case study.Texts:
		return scalarNode(v.Map())
	case study.SideValue:
		if !v.Side().IsRatio() {
			return scalarNode(v.Side().Of)
		}
		n, err := scalarNode(v.Side().Names())
		if err == nil {
			n.Style = yaml.FlowStyle
		}
		return n, err
	case study.Sequence:
		return listNode(v.Len(), func(i int) (*yaml.Node, error) { return scalarNode(v.At(i).Native()) })
	case study.Items:
		return listNode(v.Len(), func(i int) (*yaml.Node, error) { return itemNode(v, v.At(i)) })
	}
	return nil, fmt.Errorf("a %T is not a value of a study", v)
}

// itemNode writes an item of a list as its name if nothing else is set.
func itemNode(list study.Items, fields []study.Field) (*yaml.Node, error) {
	short, brief := list.Short()
	for _, f := range fields {
		brief = brief && (f.Key == short || f.Value.IsZero())
	}
	if brief {
		f, _ := study.Find(fields, short)
		return valueNode(f.Value)
	}
	return mappingNode(fields)
}

func listNode(n int, item func(i int) (*yaml.Node, error)) (*yaml.Node, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range n {
		node, err := item(i)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, node)
	}
	return list, nil
}

// scalarNode writes a value of a YAML type. Text of several lines that cannot be written
// as a block is quoted, because the encoder would write something that it cannot read.
func scalarNode(v any) (*yaml.Node, error) {
	if text, ok := v.(string); ok && strings.Contains(text, "\n") && !fitsBlock(text) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}, nil
	}
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		return nil, err
	}
	return &n, nil
}

// fitsBlock reports whether text can be written as a block of plain lines. The encoder
// always uses blocks, in which white space at the start of a line is read as indentation,
// and Unicode's line separators as line breaks.
func fitsBlock(text string) bool {
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.ContainsAny(text, "\u2028\u2029\ufeff") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "\t") || line != "" && strings.TrimSpace(line) == "" {
			return false
		}
	}
	return true
}
