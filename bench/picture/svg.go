package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"tare/internal/testkit/screen"
	"tare/internal/wording"
)

// Measures of the picture, in pixels.
const (
	column = 8.4
	row    = 18
	edge   = 14
	size   = 14
)

// palette is the sixteen colours of a dark terminal, with enough contrast for text; the
// picture looks the same on light and dark pages.
func palette() []string {
	return []string{"#6e7681", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d7dde4",
		"#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#8be9f0", "#ffffff"}
}

const (
	ground = "#161b22"
	letter = "#d7dde4"
	faint  = "#9ba5b0"
)

// text is a row without styles.
func text(cells []screen.Cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// svg draws rows of cells as on a terminal. Each piece with one style has a fixed
// position and width, so that columns align in every font.
func svg(rows [][]screen.Cell, title string) string {
	for len(rows) > 0 && text(rows[len(rows)-1]) == "" {
		rows = rows[:len(rows)-1]
	}
	columns := 1
	for _, r := range rows {
		columns = max(columns, len(r))
	}
	width, height := 2*edge+float64(columns)*column, 2*edge+len(rows)*row
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, escaped(title))
	fmt.Fprintf(&b, "<title>%s</title>\n", escaped(title))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", ground)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" fill="%s">`+"\n", size, letter)
	for y, r := range rows {
		for from := 0; from < len(r); {
			to := from + 1
			for to < len(r) && r[to].Style == r[from].Style && !apart(r, to) {
				to++
			}
			piece(&b, r[from:to], from, y)
			from = to
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// apart reports whether text begins at a cell after more than one blank, because an SVG
// viewer collapses blanks.
func apart(r []screen.Cell, at int) bool {
	return at >= 2 && r[at].Text != " " && r[at-1].Text == " " && r[at-2].Text == " "
}

// piece draws cells of one style, without the blanks around them.
func piece(b *strings.Builder, cells []screen.Cell, x, y int) {
	said := text(cells)
	trimmed := strings.TrimLeft(said, " ")
	if trimmed == "" {
		return
	}
	x += len(said) - len(trimmed)
	look, style := "", cells[0].Style
	switch {
	case style.Foreground > 0 && style.Foreground <= len(palette()):
		look = fmt.Sprintf(` fill="%s"`, palette()[style.Foreground-1])
	case style.Faint:
		look = fmt.Sprintf(` fill="%s"`, faint)
	}
	if style.Bold {
		look += ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
		edge+float64(x)*column, edge+y*row+size, float64(wording.Width(trimmed))*column, look, escaped(trimmed))
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder never returns an error
	return b.String()
}
