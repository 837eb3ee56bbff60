package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"

	"tare/internal/wording"
)

// canvas collects SVG elements. On a page each dot is a piece of one path, whose place
// tells its value by the axis; a file of its own has a tip for each.
type canvas struct {
	bytes.Buffer
	page bool
}

// n writes a coordinate: a tenth of a pixel, no more digits than needed.
func n(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // no -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// esc cleans and escapes text for an element or an attribute.
func esc(s string) string {
	var b bytes.Buffer
	// Writing to a Buffer does not fail.
	_ = xml.EscapeText(&b, []byte(wording.Clean(s)))
	return b.String()
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// text writes s at x, y. Anchor is start, middle or end.
func (c *canvas) text(x, y float64, class, anchor, s string) {
	if s == "" {
		return
	}
	a := ""
	if anchor != "start" {
		a = ` text-anchor="` + anchor + `"`
	}
	c.printf("<text x=\"%s\" y=\"%s\" class=\"%s\"%s>%s</text>\n", n(x), n(y), class, a, esc(s))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.printf("<path class=\"%s\" d=\"M%s %sL%s %s\"/>\n", class, n(x1), n(y1), n(x2), n(y2))
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	c.printf("<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class, n(x), n(y), n(w), n(h))
}

// dot draws one trial; tip is shown where a pointer rests on it.
func (c *canvas) dot(x, y float64, d Dot) {
	tip := ""
	if d.Tip != "" {
		tip = "<title>" + esc(d.Tip) + "</title>"
	}
	if d.Out {
		c.printf("<path class=\"out\" d=\"M%s %sl6 6m0-6l-6 6\">%s</path>\n", n(x-3), n(y-3), tip)
		return
	}
	c.printf("<path d=\"M%s %sh0\">%s</path>\n", n(x), n(y), tip) // a round cap: the shortest way to say disc
}

// mark draws the shape of a tone around x, y.
func (c *canvas) mark(t Tone, x, y float64) {
	class := "mark"
	if t == Unsure {
		class += " hollow"
	}
	c.printf("<path class=\"%s\" d=\"%s\"/>\n", class, shape(t, x, y))
}

// shape is the outline of a tone's mark: no two alike, so that they can be told
// apart without colour.
func shape(t Tone, x, y float64) string {
	at := func(dx, dy float64) string { return n(x+dx) + " " + n(y+dy) }
	switch t {
	case Worse: // triangle, point down
		return "M" + at(-6, -4.5) + "L" + at(6, -4.5) + "L" + at(0, 5.5) + "Z"
	case Better: // triangle, point up
		return "M" + at(-6, 4.5) + "L" + at(6, 4.5) + "L" + at(0, -5.5) + "Z"
	case Small: // diamond
		return "M" + at(-6, 0) + "L" + at(0, -6) + "L" + at(6, 0) + "L" + at(0, 6) + "Z"
	case Same, Unsure: // disc; Unsure is hollow
		r := 4.5
		return "M" + at(-r, 0) + "a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z"
	case Absent: // cross
		return "M" + at(-5, -3.5) + "l1.5 -1.5l3.5 3.5l3.5 -3.5l1.5 1.5l-3.5 3.5l3.5 3.5l-1.5 1.5l-3.5 -3.5l-3.5 3.5l-1.5 -1.5l3.5 -3.5Z"
	}
	return "M" + at(-1.75, -6) + "h3.5v12h-3.5Z" // bar
}

// Mark is a tone's mark as inline SVG for use within a line of text. It carries
// no words: those stand beside it.
func Mark(t Tone) string {
	class := "mark"
	if t == Unsure {
		class += " hollow"
	}
	return `<svg class="icon t-` + string(t) + `" viewBox="-7 -7 14 14" aria-hidden="true" focusable="false"><path class="` +
		class + `" d="` + shape(t, 0, 0) + `"/></svg>`
}

// MarkSymbols are the marks of all tones for a page that shows many: once, near its
// beginning; [MarkRef] shows one.
func MarkSymbols() string {
	out := `<svg width="0" height="0" class="symbols" aria-hidden="true" focusable="false">`
	for _, t := range []Tone{Plain, Worse, Better, Same, Small, Unsure, Absent} {
		class := "mark"
		if t == Unsure {
			class += " hollow"
		}
		out += `<symbol id="mk-` + string(t) + `" viewBox="-7 -7 14 14"><path class="` + class + `" d="` + shape(t, 0, 0) + `"/></symbol>`
	}
	return out + "</svg>"
}

// MarkRef is a tone's mark on a page that has [MarkSymbols]. It carries no words: those
// stand beside it.
func MarkRef(t Tone) string {
	class := toneClass(t)
	return `<svg class="icon t-` + class + `" aria-hidden="true"><use href="#mk-` + class + `"/></svg>`
}

// LineKey is a line's colour, dash and letter as inline SVG, to stand before its name.
func LineKey(key int) string {
	class, name := keyClass(key), ""
	if key >= 0 && key < MostKeys {
		name = `<text class="end ` + class + `" x="29" y="11">` + letter(key) + `</text>`
	}
	return `<svg class="tare-chart linekey" viewBox="0 0 40 14" aria-hidden="true" focusable="false"><path class="curve ` + class + `" d="M0 7h26"/>` + name + `</svg>`
}
