package studyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/suggest"
)

// Limits of a study file that are checked before any key is read. A real one has a few
// hundred bytes, some fifty values and four levels.
const (
	maxBytes  = 1 << 20
	maxValues = 20_000
	maxDepth  = 16
)

// load parses src into the top node of its document and makes sure that walking it, with
// aliases followed, ends soon.
func load(file string, src []byte) (*yaml.Node, error) {
	fail := func(line int, format string, args ...any) (*yaml.Node, error) {
		return nil, &study.Error{File: file, Line: line, Text: fmt.Sprintf(format, args...)}
	}
	if len(src) > maxBytes {
		return fail(1, "the file is larger than %s, the maximum of a study", quantity.Size(maxBytes))
	}
	if line, what := badText(src); what != "" {
		return fail(line, "%s; a study is plain UTF-8 text", what)
	}
	docs := yaml.NewDecoder(bytes.NewReader(src))
	doc, err := parse(docs)
	switch {
	case errors.Is(err, io.EOF):
		return fail(1, "%s", emptyText)
	case err != nil:
		line, text := syntax(err, src)
		return fail(line, "not valid YAML: %s", text)
	}
	root := doc.Content[0]
	if root.ShortTag() == "!!null" && root.Kind == yaml.ScalarNode {
		return fail(1, "%s", emptyText)
	}
	w := walk{left: maxValues, open: map[*yaml.Node]bool{}}
	if line, text := w.visit(root, 0); text != "" {
		return fail(line, "%s", text)
	}
	next, err := parse(docs)
	switch {
	case err == nil:
		return fail(next.Line, "a second document; a study is one document")
	case !errors.Is(err, io.EOF):
		line, text := syntax(err, src)
		return fail(line, "not valid YAML: %s", text)
	}
	return root, nil
}

const emptyText = "the file is empty; a study requires at least modes and workloads"

// parse reads the next document. It recovers from panics of the parser, which occur in
// states that the parser considers impossible, so that a file cannot end the program.
func parse(docs *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser failed: %v", p)
		}
	}()
	doc = new(yaml.Node)
	if err := docs.Decode(doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, io.EOF
	}
	return doc, nil
}

// badText finds the first byte that YAML does not allow, and its line, because the parser
// refuses it without a line.
func badText(src []byte) (line int, what string) {
	line = 1
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && n == 1:
			return line, fmt.Sprintf("byte 0x%02x is not UTF-8", src[i])
		case r == '\t' || r == '\r' || r == 0x85 || r == 0xfeff && i == 0:
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			return line, fmt.Sprintf("control character %U", r)
		}
		i += n
	}
	return 0, ""
}

// syntax extracts line and text from the parser's error. The parser counts lines from 1
// in its scanner and from 0 in its grammar; the texts show which of them failed.
func syntax(err error, src []byte) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if m := regexp.MustCompile(`^unknown anchor '(.*)' referenced$`).FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(src, []byte("*"+m[1]))
		return 1 + bytes.Count(before, []byte("\n")), fmt.Sprintf("alias %s has no preceding anchor", suggest.Quote("*"+m[1]))
	}
	for _, grammar := range []string{
		"did not find expected key", "did not find expected '-' indicator", "did not find expected ',' or",
		"did not find expected node content", "did not find expected <document start>",
		"found undefined tag handle", "found duplicate %", "found incompatible YAML document",
	} {
		if line > 0 && strings.HasPrefix(text, grammar) {
			line++
		}
	}
	return max(1, line), text
}

// walk bounds the number of nodes that a reader visits: with aliases a small file can
// represent a very large or an endless one.
type walk struct {
	left int
	open map[*yaml.Node]bool
}

// visit returns the line and text of a problem at n or below it, if any.
func (w *walk) visit(n *yaml.Node, depth int) (line int, text string) {
	if w.left--; w.left < 0 {
		return n.Line, fmt.Sprintf("more than %d values with aliases expanded", maxValues)
	}
	if depth > maxDepth {
		return n.Line, fmt.Sprintf("nested deeper than %d levels", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		if w.open[n.Alias] {
			return n.Line, fmt.Sprintf("anchor %s contains itself", suggest.Quote("&"+n.Value))
		}
		_, text := w.visit(n.Alias, depth)
		return n.Line, text // the place of use is more useful than the definition
	}
	w.open[n] = true
	defer delete(w.open, n)
	for _, c := range n.Content {
		if line, text := w.visit(c, depth+1); text != "" {
			return line, text
		}
	}
	return 0, ""
}
