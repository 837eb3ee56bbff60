package printable_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"tare/internal/printable"
	"tare/internal/testkit/must"
)

// shown is a value as it is decoded from a file.
type shown struct {
	Name, Reason string
	Tags         []string
	Facts        map[string]string
	Next         *shown
}

// FuzzValue checks that no string of a decoded value keeps a character that a terminal or a page
// interprets, that none is longer than allowed, and that cleaning again changes nothing.
func FuzzValue(f *testing.F) {
	f.Add("plain", "of words")
	f.Add("\x1b]0;title\x07\u202e\xff", "a\r\nb\tc")
	f.Add(strings.Repeat("\u6f22", 300), strings.Repeat("x ", 15000))
	f.Add("\u0085\u009b31m", "\U000e0001\ufeff\u2028")
	f.Fuzz(func(t *testing.T, name, text string) {
		v := shown{Name: name, Reason: text, Tags: []string{text, name}, Facts: map[string]string{name: text}}
		v.Next = &shown{Name: text, Reason: name}
		got := printable.Value(v)
		visit := func(s string, most int) {
			if !utf8.ValidString(s) || printable.Width(s) > most || strings.ContainsFunc(s, func(r rune) bool {
				return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
			}) {
				t.Errorf("%q is shown, %d columns of %d", s, printable.Width(s), most)
			}
		}
		for _, s := range []*shown{&got, got.Next} {
			visit(s.Name, printable.MaxName)
			visit(s.Reason, printable.MostProse)
			for _, tag := range s.Tags {
				visit(tag, printable.MaxName)
			}
			for key, value := range s.Facts {
				visit(key, printable.MaxName)
				visit(value, printable.MostProse)
			}
		}
		for _, s := range []string{name, text} {
			if once := printable.Clean(s); printable.Clean(once) != once {
				t.Errorf("cleaning %q twice: %q, %q", s, once, printable.Clean(once))
			}
			for _, line := range strings.Split(printable.CleanLines(s), "\n") {
				visit(line, len(s)*2+2)
			}
		}
	})
}

// FuzzWriter checks that text loses what a terminal interprets, wherever the writes are cut, and
// keeps the rest.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("plain\ttext\r\n"), 3)
	f.Add([]byte("\x1b[31m\u202e\u6f22\xff\u009b"), 5)
	f.Add([]byte("\xe6\xbc"), 1)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		written := func(parts ...[]byte) string {
			var out bytes.Buffer
			w := printable.NewWriter(&out)
			for _, p := range parts {
				if n, err := w.Write(p); err != nil || n != len(p) {
					t.Fatal(n, err)
				}
			}
			return out.String()
		}
		whole := written(text)
		at := 0
		if len(text) > 0 {
			at = (cut%len(text) + len(text)) % len(text)
		}
		must.Equal(t, whole, written(text[:at], text[at:]))
		must.True(t, utf8.ValidString(whole) && written([]byte(whole)) == whole, "%q is visible", whole)
		if i := strings.IndexFunc(whole, func(r rune) bool {
			return r != '\n' && r != '\t' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
		}); i >= 0 {
			t.Errorf("%q is visible", whole)
		}
	})
}
