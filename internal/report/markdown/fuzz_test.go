package markdown

import (
	"strings"
	"testing"
	"unicode"

	"tare/internal/testkit/must"
)

// FuzzEscape checks that whatever a name is, its Markdown is one line without HTML, links, code
// and invisible characters, and cannot end a table's cell.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"plain", "a|b\\|c", "<script>", "[x](javascript:alert(1))", "`code`", "1. list", "\x1b[31m\u202e", "a\\", "_a_", "# h", "&lt;", "~~~\n", "$x$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := md(s)
		for i, r := range got {
			escaped := (len(got[:i])-len(strings.TrimRight(got[:i], "\\")))%2 == 1
			switch {
			case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
				t.Fatalf("%q is written %q, with %U", s, got, r)
			case strings.ContainsRune("<>", r):
				t.Fatalf("%q is written %q, with HTML", s, got)
			case strings.ContainsRune("|`[]*~$", r) && !escaped:
				t.Fatalf("%q is written %q, with a bare %q", s, got, r)
			}
		}
		left := len(got) - len(strings.TrimRight(got, "\\"))
		must.True(t, left%2 != 1, "%q is written %q, which escapes what follows it", s, got)
	})
}
