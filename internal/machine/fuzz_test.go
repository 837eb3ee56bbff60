package machine

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzLines checks that a login may write anything: either there is a line for this program, which
// stands behind the marker, or an error, and what is kept of the rest is short and safe to show.
func FuzzLines(f *testing.F) {
	const marker = "tare-0123"
	f.Add("welcome\n" + marker + " system Linux x86_64\n")
	f.Add("no line break" + marker + " guard {}\r\n" + marker + "\n")
	f.Add("\x1b[2J\u202e" + strings.Repeat("x", maxLine+1) + "\n" + marker)
	f.Add(marker + " system x/../../secret y")
	f.Add(marker + " system MINGW64_NT-10.0 x86_64\n")
	f.Fuzz(func(t *testing.T, text string) {
		l := newLines(strings.NewReader(text), marker)
		for {
			word, rest, err := l.next()
			if err != nil {
				break
			}
			if !strings.Contains(text, marker) || !strings.Contains(text, word) || !strings.Contains(text, rest) || strings.Contains(word, " ") {
				t.Errorf("%q and %q are not in %q", word, rest, text)
			}
			if name := BinaryName(systemOf(rest)); strings.ContainsAny(name, "/\\:") || strings.Contains(name, "..") {
				t.Errorf("%q became the file %q", rest, name)
			}
		}
		said := oneLine(l.noise.String())
		if l.noise.Len() > keptText || len(said) > 4*maxReason+3 || strings.ContainsFunc(said, unicode.IsControl) {
			t.Errorf("%q is kept of the rest", said)
		}
	})
}
