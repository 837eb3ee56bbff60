// Package printable makes text of any origin safe to show: [Clean] removes what a
// terminal or a page would interpret, [Value] does so for every string of a decoded
// value, and the other functions measure, cut and wrap text in terminal columns.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a string of foreign origin safe for one line of a terminal or a page:
// control characters (ESC among them), bidirectional overrides and other invisible format
// characters are removed, line breaks and tabs become a space, and bytes that are not
// UTF-8 become U+FFFD.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	return strings.TrimSpace(visible(s))
}

// CleanLines is Clean for text of several lines: it keeps the line breaks.
func CleanLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = Clean(l)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func visible(s string) string {
	after := ' ' // the last character written
	return strings.Map(func(r rune) rune {
		switch {
		case r != ' ' && unicode.IsSpace(r):
			if after == ' ' { // CR LF, or an indented line
				return -1
			}
			r = ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
			return -1
		}
		after = r
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// Cut shortens s to at most width columns, with "..." where it was cut.
func Cut(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	const dots = "..."
	if width <= len(dots) {
		return dots[:max(width, 0)]
	}
	head, _ := Split(s, width-len(dots))
	if Width(head) > width-len(dots) {
		head = "" // not even one wide character fits
	}
	return strings.TrimRight(head, " ") + dots
}

// CutMiddle shortens a name to at most width columns like Cut, but keeps its end, where
// long names usually differ.
func CutMiddle(s string, width int) string {
	const dots = "..."
	if Width(s) <= width || width < 3*len(dots) {
		return Cut(s, width)
	}
	room := width - len(dots)
	head, _ := Split(s, room*3/5)
	tail, left := s, Width(s)
	for most := room - Width(head); left > most; {
		var cut string
		cut, tail = Split(tail, 1)
		left -= Width(cut)
	}
	return head + dots + tail
}

// Split cuts s after at most width columns, but at least one rune.
func Split(s string, width int) (head, tail string) {
	used := 0
	for i, r := range s {
		w := runeWidth(r)
		if i > 0 && used+w > width {
			return s[:i], s[i:]
		}
		used += w
	}
	return s, ""
}

// Width is the number of terminal columns that s takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth approximates Unicode's East Asian Width: it handles combining marks and the
// large blocks of wide characters.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, // Hangul Jamo
		r >= 0x2e80 && r <= 0xa4cf, // CJK
		r >= 0xac00 && r <= 0xd7a3, // Hangul
		r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60,
		r >= 0x1f300 && r <= 0x1faff, // pictographs
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
