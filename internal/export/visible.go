package export

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// VisibleWriter removes characters from text that are invisible and that a terminal might
// interpret: control characters except line breaks and tabs (ESC among them), overrides
// of the writing direction and other invisible characters. Invalid UTF-8 becomes U+FFFD.
type VisibleWriter struct {
	to   io.Writer
	part []byte // incomplete character at the end of the input so far
	out  []byte
}

// Visible returns a VisibleWriter to w. Close writes what remains, and leaves w open.
func Visible(w io.Writer) *VisibleWriter { return &VisibleWriter{to: w} }

// Write consumes all of p. Its only errors are those of the underlying writer.
func (v *VisibleWriter) Write(p []byte) (int, error) {
	n, text := len(p), p
	if len(v.part) > 0 {
		text = append(v.part, p...)
	}
	v.out = v.out[:0]
	for len(text) > 0 && utf8.FullRune(text) {
		text = v.next(text)
	}
	v.part = append([]byte(nil), text...)
	if _, err := v.to.Write(v.out); err != nil {
		return 0, err
	}
	return n, nil
}

// next processes the first character of text, or a whole sequence of plain ones, and
// returns the rest.
func (v *VisibleWriter) next(text []byte) []byte {
	plain := 0
	for plain < len(text) && (text[plain] >= ' ' && text[plain] < 0x7f || text[plain] == '\n') {
		plain++
	}
	if plain > 0 {
		v.out = append(v.out, text[:plain]...)
		return text[plain:]
	}
	r, size := utf8.DecodeRune(text)
	if r == '\t' || r == '\r' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) {
		v.out = utf8.AppendRune(v.out, r)
	}
	return text[size:]
}

// Close writes what remains.
func (v *VisibleWriter) Close() error {
	if len(v.part) == 0 {
		return nil
	}
	v.part = nil
	_, err := v.to.Write([]byte(string(utf8.RuneError)))
	return err
}
