// Package hypertext writes HTML and escapes every value on the way. It does not use html/template: a program with
// that keeps every exported method of every library, because a template may call any by its name.
package hypertext

import (
	"bytes"
	"fmt"
	"strings"
)

// Markup is text that is HTML already.
type Markup string

// Write writes a format. A value that is neither Markup nor a number is escaped, for the text of an element and for
// an attribute in double quotes; the format itself is written as it is. A link must be made by the program: no scheme of
// a URL is refused.
func Write(b *bytes.Buffer, format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case Markup, int, int64, uint64, float64:
		case string:
			args[i] = Escape(a)
		default:
			args[i] = Escape(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(b, format, args...)
}

var escaper = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

// Escape returns a text as HTML.
func Escape(s string) Markup { return Markup(escaper.Replace(s)) }
