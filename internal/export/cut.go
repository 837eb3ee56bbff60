package export

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cut shortens Markdown to at most the given number of bytes, at a heading if there is
// one, and appends a note about how much is missing, with the sections. Shorter text is returned
// unchanged.
func Cut(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	names := most / 10 // bytes for the names of sections
	note := func(kept int, sections string) []byte {
		return fmt.Appendf(nil, "\n\n*%d of %d bytes are omitted here%s: the run's report.md is complete.*\n", len(text)-kept, len(text), sections)
	}
	room := max(0, most-len(note(0, ""))-names) // the note is longest if nothing is kept
	kept := text[:room]
	for _, edge := range []string{"\n## ", "\n\n", "\n"} {
		if at := bytes.LastIndex(kept, []byte(edge)); at > room/2 {
			kept = kept[:at]
			break
		}
	}
	for len(kept) < len(text) && len(kept) > 0 && !utf8.RuneStart(text[len(kept)]) {
		kept = kept[:len(kept)-1] // do not split a character
	}
	return append(bytes.Clone(kept), note(len(kept), omitted(text[len(kept):], names))...)
}

// omitted names the sections of a text in brackets, in at most so many bytes.
func omitted(text []byte, most int) string {
	var names []string
	size := 0
	for line := range bytes.Lines(text) {
		name, is := bytes.CutPrefix(line, []byte("## "))
		if name = bytes.TrimSpace(name); !is || len(name) == 0 {
			continue
		}
		if size += len(name) + 2; size > most-20 {
			names = append(names, "and others")
			break
		}
		names = append(names, string(name))
	}
	if len(names) == 0 || most < 20 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
