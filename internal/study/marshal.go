package study

import (
	"bytes"
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Marshal writes s as a study file. Decode reads the very same value back, of a
// resolved study as of an open one.
func Marshal(s Study) ([]byte, error) {
	text := s.Description
	quoted := strings.Contains(text, "\n") && !fitsBlock(text)
	if quoted {
		s.Description = "in its stead" // the encoder would write what it cannot read
	}
	var root yaml.Node
	if err := root.Encode(s); err != nil {
		return nil, fmt.Errorf("write study %q: %w", s.Name, err)
	}
	for i := 0; quoted && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "description" {
			root.Content[i+1].Value, root.Content[i+1].Style = text, yaml.DoubleQuotedStyle
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

// fitsBlock says whether text can stand as a block of plain lines. The encoder
// always writes it so, and white space at the start of a line is then read as
// indentation.
func fitsBlock(text string) bool {
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "\t") || line != "" && strings.TrimSpace(line) == "" {
			return false
		}
	}
	return true
}
