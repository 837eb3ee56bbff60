package printable

import (
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Writer removes from text what a terminal might interpret and what cannot be seen: control
// characters except line breaks and tabs (ESC among them), overrides of the writing direction
// and other invisible characters. Invalid UTF-8 becomes U+FFFD, and an incomplete character at
// the end is not written. Its methods are safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	part []byte // incomplete character at the end of the input so far
	out  []byte
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Raw returns the writer to which w writes.
func (w *Writer) Raw() io.Writer { return w.to }

// Write consumes all of p. Its only errors are those of the underlying writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, text := len(p), p
	if len(w.part) > 0 {
		text = append(w.part, p...)
	}
	w.out = w.out[:0]
	for len(text) > 0 && utf8.FullRune(text) {
		text = w.next(text)
	}
	w.part = append([]byte(nil), text...)
	if len(w.out) == 0 {
		return n, nil
	}
	if _, err := w.to.Write(w.out); err != nil {
		return 0, err
	}
	return n, nil
}

// next processes the first character of text, or a whole sequence of plain ones, and
// returns the rest.
func (w *Writer) next(text []byte) []byte {
	safe := 0
	for safe < len(text) && (text[safe] >= ' ' && text[safe] < 0x7f || text[safe] == '\n' || text[safe] == '\t') {
		safe++
	}
	if safe > 0 {
		w.out = append(w.out, text[:safe]...)
		return text[safe:]
	}
	r, size := utf8.DecodeRune(text)
	if !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
		w.out = utf8.AppendRune(w.out, r)
	}
	return text[size:]
}
