package chart

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/wording"
)

// Measures of a panel, in pixels of the drawing. A panel is as wide as a
// telephone, so that a page can stack panels there and put them side by side
// where there is room.
const (
	panelWidth  = 400.0
	inset       = 16.0 // from the panel's edge to the axis's ends
	headHeight  = 24.0
	groupHeight = 26.0
	labelHeight = 17.0
	stripHeight = 30.0 // dots above, interval below
	blankHeight = 17.0 // the strip of a row without figures
	rowGap      = 5.0
	axisHeight  = 40.0
	dotRadius   = 3.0
	gutter      = 36.0
	margin      = 16.0
	charWidth   = 6.6 // of a bold letter, generously
)

// panel draws p with its top left corner at x, y.
func (c *canvas) panel(p Panel, x, y float64) {
	s := newScale(p, x+inset, x+panelWidth-inset)
	c.text(x, y+13, "head", "start", wording.Cut(wording.Clean(p.Title), 54))
	top := y + headHeight
	if at := axisData("x", s, ""); c.page && at != "" {
		c.printf("<g%s>\n", at)
		defer c.printf("</g>\n")
	}
	c.ground(p, s, x, top)
	for _, r := range p.Rows {
		if r.Heading != "" {
			c.text(x, top+16, "group", "start", wording.Cut(wording.Clean(r.Heading), 58))
			top += groupHeight
		}
		c.row(r, s, x, top)
		top += r.height()
	}
	c.axis(p.Axis, s, x, top)
}

// ground draws what lies below the rows: strips, band, grid and reference line, each as
// one path, for pages hold many rows. They are in the strips only: no word is crossed.
func (c *canvas) ground(p Panel, s scale, x, top float64) {
	var strip, band, grid, ref strings.Builder
	ticks := s.ticks()
	for _, r := range p.Rows {
		if r.Heading != "" {
			top += groupHeight
		}
		y := top + labelHeight
		top += r.height()
		if r.Absent != "" {
			continue
		}
		strip.WriteString("M" + pair(x, y) + "h" + n(panelWidth) + "v" + n(stripHeight) + "h-" + n(panelWidth) + "z")
		if b := p.Axis.Band; b != nil {
			w := n(s.x(b[1]) - s.x(b[0]))
			band.WriteString("M" + pair(s.x(b[0]), y) + "h" + w + "v" + n(stripHeight) + "h-" + w + "z")
		}
		for _, t := range ticks {
			grid.WriteString("M" + pair(s.x(t.value), y) + "v" + n(stripHeight))
		}
		if p.Axis.Ref != nil {
			ref.WriteString("M" + pair(s.x(*p.Axis.Ref), y) + "v" + n(stripHeight))
		}
	}
	for _, g := range []struct {
		class string
		d     *strings.Builder
	}{{"strip", &strip}, {"band", &band}, {"grid", &grid}, {"ref", &ref}} {
		if g.d.Len() > 0 {
			c.printf("<path class=\"%s\" d=\"%s\"/>\n", g.class, g.d.String())
		}
	}
}

// axisData tells a page which values the pixels of an axis stand for: those of its two
// ends, their values, and what kind of axis it is.
func axisData(name string, s scale, kind string) string {
	if s.log {
		kind = "log"
	}
	if kind != "" {
		kind = " " + kind
	}
	return " data-" + name + "=\"" + n(s.x0) + " " + n(s.x1) + " " + strconv.FormatFloat(s.lo, 'g', 6, 64) + " " + strconv.FormatFloat(s.hi, 'g', 6, 64) + kind + "\""
}

func (r Row) height() float64 {
	if r.Absent != "" {
		return labelHeight + blankHeight + rowGap
	}
	return labelHeight + stripHeight + rowGap
}

func panelHeight(p Panel) float64 {
	h := headHeight + axisHeight
	for _, r := range p.Rows {
		h += r.height()
		if r.Heading != "" {
			h += groupHeight
		}
	}
	return h
}

// axis writes the ticks and, below, which way is which.
func (c *canvas) axis(a Axis, s scale, x, y float64) {
	c.line("axis", s.x0, y, s.x1, y)
	for _, t := range s.ticks() {
		c.line("axis", s.x(t.value), y, s.x(t.value), y+4)
		c.text(s.x(t.value), y+16, "tick", "middle", t.label)
	}
	if a.Left != "" {
		c.text(x, y+33, "dim", "start", "← "+a.Left)
	}
	if a.Right != "" {
		c.text(x+panelWidth, y+33, "dim", "end", a.Right+" →")
	}
	tip, at := a.RefTip, (s.x0+s.x1)/2
	if a.Ref != nil {
		at = min(max(s.x(*a.Ref), s.x0+115), s.x1-115)
	}
	if s.log {
		tip = strings.TrimPrefix(tip+" (log scale)", " ")
	}
	c.text(at, y+33, "dim", "middle", wording.Cut(wording.Clean(tip), 40))
}

// row draws the words of a row and, below, its dots and its interval.
func (c *canvas) row(r Row, s scale, x, y float64) {
	c.printf("<g class=\"t-%s\"%s>\n", toneClass(r.Tone), group(r.Group))
	defer c.printf("</g>\n")
	note := wording.Cut(wording.Clean(r.Note), 46)
	room := int((panelWidth-float64(wording.Width(note))*(charWidth-0.4))/charWidth) - 2
	c.label(r.Label, max(room, 8), x, y+12)
	c.text(x+panelWidth, y+12, "note", "end", note)
	y += labelHeight
	if r.Absent != "" {
		c.text(x, y+11, "dim", "start", wording.Cut(wording.Clean(r.Absent), 60))
		return
	}
	if len(r.Parts) > 0 {
		c.parts(r.Parts, s, y+(stripHeight-barHeight)/2)
		return
	}
	c.dots(r.Dots, s, y+9.5)
	c.estimate(r, s, y+22.5)
}

// dots draws the trials of a row around y.
func (c *canvas) dots(dots []Dot, s scale, y float64) {
	if len(dots) == 0 {
		return
	}
	var all, blocks strings.Builder
	c.printf("<g class=\"dots\">\n")
	for i, lane := range lanes(dots, s) {
		if d := dots[i]; c.page && !d.Out {
			all.WriteString("M" + pair(s.x(d.X), y+lane) + "h0")
			blocks.WriteString(" " + strconv.Itoa(d.No))
		} else {
			c.dot(s.x(d.X), y+lane, d)
		}
	}
	if all.Len() > 0 {
		c.printf("<path data-n=\"%s\" d=\"%s\"/>\n", blocks.String()[1:], all.String())
	}
	c.printf("</g>\n")
}

// label writes a row's name, and the whole of it as a tip where it was cut.
func (c *canvas) label(name string, width int, x, y float64) {
	name = wording.Clean(name)
	short := wording.CutMiddle(name, width)
	if short == name {
		c.text(x, y, "label", "start", name)
		return
	}
	c.printf("<text x=\"%s\" y=\"%s\" class=\"label\">%s<title>%s</title></text>\n", n(x), n(y), esc(short), esc(wording.Cut(name, 500)))
}

// estimate draws the interval with its caps and the mark on it. Where the
// interval reaches beyond the axis there is an arrow instead of a cap.
func (c *canvas) estimate(r Row, s scale, y float64) {
	if iv := r.Interval; iv != nil {
		lo, hi := s.x(iv[0]), s.x(iv[1])
		var d strings.Builder
		d.WriteString("M" + n(lo) + " " + n(y) + "L" + n(hi) + " " + n(y))
		d.WriteString(limit(lo, y, 1, iv[0] < s.lo) + limit(hi, y, -1, iv[1] > s.hi))
		c.printf("<path class=\"bar\" d=\"%s\"/>\n", d.String())
	}
	if r.Estimate != nil {
		c.mark(r.Tone, s.x(*r.Estimate), y)
	}
}

// limit is an interval's end: a cap, or an arrow head that points outwards.
// Inward is 1 at the left end and -1 at the right one.
func limit(x, y, inward float64, beyond bool) string {
	if beyond {
		return "M" + n(x+4*inward) + " " + n(y-4) + "L" + n(x) + " " + n(y) + "L" + n(x+4*inward) + " " + n(y+4)
	}
	return "M" + n(x) + " " + n(y-4) + "V" + n(y+4)
}

// lanes moves dots that would cover each other apart, up and down in turn. Where
// even that does not do they overlap, and their translucency shows it.
func lanes(dots []Dot, s scale) []float64 {
	const step = 4.5
	offsets := []float64{0, -step, step}
	order := make([]int, len(dots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch xa, xb := s.x(dots[a].X), s.x(dots[b].X); {
		case xa < xb:
			return -1
		case xa > xb:
			return 1
		}
		return 0
	})
	end := make([]float64, len(offsets)) // where each lane is free again
	out := make([]float64, len(dots))
	for _, i := range order {
		x := s.x(dots[i].X)
		best := 0
		for l := range offsets {
			if end[l] <= x {
				best = l
				break
			}
			if end[l] < end[best] {
				best = l
			}
		}
		out[i] = offsets[best]
		end[best] = x + 2*dotRadius
	}
	return out
}

func toneClass(t Tone) string {
	switch t {
	case Worse, Better, Same, Small, Unsure, Absent:
		return string(t)
	}
	return string(Plain)
}
