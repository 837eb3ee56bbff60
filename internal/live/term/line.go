package term

import (
	"strings"

	"charm.land/lipgloss/v2"

	"tare/internal/report/wording"
)

// look is what a piece of a line is. It is only ever said a second time by colour: the
// words and places say it first.
type look int

const (
	plainText look = iota
	strong
	quiet
	rate
	bad
	warning
)

// span is a piece of a line in one look.
type span struct {
	look look
	text string
}

// line is a row of the drawing.
type line []span

func words(l look, s string) line { return line{{l, s}} }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += wording.Width(s.text)
	}
	return n
}

// cut shortens a line to a width.
func (l line) cut(width int) line {
	if l.width() <= width {
		return l
	}
	var out line
	for _, s := range l {
		room := width - out.width()
		if wording.Width(s.text) > room {
			return append(out, span{s.look, wording.Cut(s.text, room)})
		}
		out = append(out, s)
	}
	return out
}

// to appends a piece that begins at a column.
func (l line) to(column int, more ...span) line {
	if gap := column - l.width(); gap > 0 {
		l = append(l, span{text: strings.Repeat(" ", gap)})
	}
	return append(l, more...)
}

// String is the line without its looks.
func (l line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// styles are the looks in the sixteen colours that a terminal's theme gives, so that they
// can be read on dark and light ones. Where colour is not wanted the library leaves it out.
func styles() map[look]lipgloss.Style {
	one := lipgloss.NewStyle()
	return map[look]lipgloss.Style{
		strong: one.Bold(true), quiet: one.Faint(true), rate: one.Foreground(lipgloss.Cyan),
		bad: one.Foreground(lipgloss.Red), warning: one.Foreground(lipgloss.Yellow),
	}
}

// render makes the lines one text, with an empty one below for the cursor.
func render(lines []line) string {
	looks := styles()
	var b strings.Builder
	for _, l := range lines {
		for _, s := range l {
			if style, ok := looks[s.look]; ok && s.text != "" {
				b.WriteString(style.Render(s.text))
			} else {
				b.WriteString(s.text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
