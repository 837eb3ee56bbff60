package term

import (
	"strings"

	"charm.land/lipgloss/v2"

	"tare/internal/wording"
)

// textStyle is the style of a part of a line. Colour only repeats what the text and its
// position already say.
type textStyle int

const (
	plainText textStyle = iota
	strong
	quiet
	rate
	bad
	warning
)

// span is a part of a line with one style.
type span struct {
	look textStyle
	text string
}

// line is a row of the drawing.
type line []span

func words(l textStyle, s string) line { return line{{l, s}} }

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

// to appends text that begins at a column.
func (l line) to(column int, more ...span) line {
	if gap := column - l.width(); gap > 0 {
		l = append(l, span{text: strings.Repeat(" ", gap)})
	}
	return append(l, more...)
}

// String is the line without styles.
func (l line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// styles are the styles in the sixteen colours of the terminal's theme, so that they are
// readable on dark and light backgrounds. The library leaves colours out where they are
// disabled.
func styles() map[textStyle]lipgloss.Style {
	one := lipgloss.NewStyle()
	return map[textStyle]lipgloss.Style{
		strong: one.Bold(true), quiet: one.Faint(true), rate: one.Foreground(lipgloss.Cyan),
		bad: one.Foreground(lipgloss.Red), warning: one.Foreground(lipgloss.Yellow),
	}
}

// render joins the lines, with an empty line below for the cursor.
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
