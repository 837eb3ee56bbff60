package export

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// VisibleWriter passes text on without what nobody sees and a terminal may act on:
// control characters but for line breaks and tabs (ESC among them), overrides of the
// direction of writing and other invisible characters. What is not UTF-8 becomes
// U+FFFD.
type VisibleWriter struct {
	to   io.Writer
	part []byte // the beginning of a character whose rest has not come yet
	out  []byte
}

// Visible is a writer to w. What comes last is written by Close, which leaves w open.
func Visible(w io.Writer) *VisibleWriter { return &VisibleWriter{to: w} }

// Write takes all of p. Its only errors are those of the writer behind it.
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

// next takes the first character of text, or all of the plain ones there are.
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

// Close writes what is left.
func (v *VisibleWriter) Close() error {
	if len(v.part) == 0 {
		return nil
	}
	v.part = nil
	_, err := v.to.Write([]byte(string(utf8.RuneError)))
	return err
}
