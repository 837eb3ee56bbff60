package export

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Cut shortens Markdown to at most the given number of bytes, at a heading if there is
// one, and appends a note about how much is missing. Shorter text is returned unchanged.
func Cut(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	note := func(kept int) []byte {
		return fmt.Appendf(nil, "\n\n*%d of %d bytes are omitted here: the run's report.md is complete.*\n", len(text)-kept, len(text))
	}
	room := max(0, most-len(note(0))) // the note is longest if nothing is kept
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
	return append(bytes.Clone(kept), note(len(kept))...)
}
