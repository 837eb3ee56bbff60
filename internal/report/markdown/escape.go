package markdown

import (
	"strings"

	"tare/internal/printable"
)

// unknown is shown where there is no number.
const unknown = "-"

// md escapes text for one line of Markdown: nothing in it formats, links, ends a
// table's cell or passes as HTML.
func md(s string) string {
	s = printable.Clean(s)
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '|', '\\', '`', '*', '[', ']', '~', '$':
			b.WriteString("\\" + string(r))
		case '_': // formats at the edge of a word only
			if i == 0 || i == len(rs)-1 || !wordly(rs[i-1]) || !wordly(rs[i+1]) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case '#', '+', '-', '=': // formats at the start of a line only
			if i == 0 && s != unknown {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case '.', ')': // "1." at the start of a line makes a list
			if i > 0 && i < 10 && digits(rs[:i]) && (i == len(rs)-1 || rs[i+1] == ' ') {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func wordly(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func digits(rs []rune) bool {
	for _, r := range rs {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

var inNumber = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|") //nolint:gochecknoglobals // built once: there may be 100 000 numbers

// number escapes a number of a table's cell with what is beside it: signs at its start
// mean nothing there.
func number(s string) string {
	return inNumber.Replace(s)
}
