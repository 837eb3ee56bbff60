package study

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Marshal writes s as a study file. Decode reads the very same value back, of a
// resolved study as of an open one.
func Marshal(s Study) ([]byte, error) {
	s.Modes, s.Scenarios = slices.Clone(s.Modes), slices.Clone(s.Scenarios)
	var quoted []string // in the order of the file
	stand := func(text *string) {
		if strings.Contains(*text, "\n") && !fitsBlock(*text) {
			quoted = append(quoted, *text)
			*text = inItsStead // the encoder would write what it cannot read
		}
	}
	stand(&s.Description)
	for i := range s.Modes {
		stand(&s.Modes[i].Description)
	}
	for i := range s.Scenarios {
		stand(&s.Scenarios[i].Description)
	}
	var root yaml.Node
	if err := root.Encode(s); err != nil {
		return nil, fmt.Errorf("write study %q: %w", s.Name, err)
	}
	for _, n := range descriptions(&root) {
		if n.Value == inItsStead && len(quoted) > 0 {
			n.Value, n.Style, quoted = quoted[0], yaml.DoubleQuotedStyle, quoted[1:]
		}
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(&root); err != nil {
		return nil, fmt.Errorf("write study %q: %w", s.Name, err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write study %q: %w", s.Name, err)
	}
	return buf.Bytes(), nil
}

// inItsStead holds the place of a text. No description of a good study is taken for
// it, for none has a control character.
const inItsStead = "\x07"

// descriptions finds the descriptions of a study, its modes and its scenarios, in
// the order of the file.
func descriptions(root *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch value := root.Content[i+1]; root.Content[i].Value {
		case "description":
			out = append(out, value)
		case "modes", "scenarios":
			for _, item := range value.Content {
				if item.Kind == yaml.MappingNode {
					out = append(out, descriptions(item)...)
				}
			}
		}
	}
	return out
}

// fitsBlock says whether text can stand as a block of plain lines. The encoder
// always writes it so, and white space at the start of a line is then read as
// indentation, and Unicode's own separators of lines as such.
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
