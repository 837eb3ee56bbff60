package wording

import (
	"strings"

	"tare/internal/printable"
)

// Clean makes a string of foreign origin fit for one line, as [printable.Clean] does.
func Clean(s string) string { return printable.Clean(s) }

// CleanLines is Clean for text of several lines: it keeps the line breaks.
func CleanLines(s string) string { return printable.CleanLines(s) }

// Width is the number of terminal columns that s takes.
func Width(s string) int { return printable.Width(s) }

// Cut shortens s to at most width columns, with "..." where it was cut.
func Cut(s string, width int) string { return printable.Cut(s, width) }

// CutMiddle shortens a name as Cut does, but keeps its end.
func CutMiddle(s string, width int) string { return printable.CutMiddle(s, width) }

// Pad appends spaces until s is width columns wide.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// Wrap breaks s at spaces into lines of at most width columns. A word that is
// wider than a line is broken inside. There is always at least one line.
func Wrap(s string, width int) []string {
	width = max(width, 1)
	var lines []string
	line, used := "", 0
	for _, word := range words(s) {
		w := Width(word)
		if line != "" && used+1+w <= width {
			line += " " + word
			used += 1 + w
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for head, tail := printable.Split(word, width); tail != ""; head, tail = printable.Split(word, width) {
			lines = append(lines, head)
			word = tail
		}
		line, used = word, Width(word)
	}
	if line != "" || lines == nil {
		lines = append(lines, line)
	}
	return lines
}

// words are the words of s; a per cent sign stays with its number.
func words(s string) []string {
	var out []string
	for _, w := range strings.Fields(s) {
		if len(out) > 0 && strings.HasPrefix(w, "%") {
			out[len(out)-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}
