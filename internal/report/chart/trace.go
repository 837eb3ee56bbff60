package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/wording"
)

// trace is a path through points: an absolute start and steps of a tenth of a pixel,
// rounded so that they never run away from where the points are.
func trace(points []XY, xs, ys scale, top float64) string {
	var d strings.Builder
	px, py := 0.0, 0.0
	drawn := false
	for _, p := range points {
		if math.IsNaN(p.X) || math.IsNaN(p.Y) {
			drawn = false // a gap
			continue
		}
		x, y := tenth(xs.x(p.X)), tenth(top+ys.x(p.Y))
		if !drawn {
			d.WriteString("M" + pair(x, y))
		} else {
			d.WriteString("l" + pair(x-px, y-py))
		}
		px, py, drawn = x, y, true
	}
	return d.String()
}

// pair writes two coordinates; a minus sign parts them as well as a space does.
func pair(x, y float64) string {
	second := n(y)
	if second[0] != '-' {
		second = " " + second
	}
	return n(x) + second
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// curve draws a line.
func (c *canvas) curve(l Line, xs, ys scale, top float64) {
	class := "curve"
	if l.Key >= 0 {
		class += " " + keyClass(l.Key)
	}
	if l.Thin {
		class += " thin"
	}
	points := l.Points
	if l.Dense {
		points = apart(points, xs, ys)
	}
	if d := trace(points, xs, ys, top); d != "" {
		c.printf("<path class=\"%s\"%s d=\"%s\"/>\n", class, group(l.Group), d)
	}
}

// apart leaves out points that are within a pixel of one that is drawn, but for the last.
func apart(points []XY, xs, ys scale) []XY {
	var out []XY
	for i, p := range points {
		if i > 0 && i+1 < len(points) {
			last := out[len(out)-1]
			if math.Abs(xs.x(p.X)-xs.x(last.X)) < 1 && math.Abs(ys.x(p.Y)-ys.x(last.Y)) < 1 {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// reach draws a band: along its upper edge and back along the lower one.
func (c *canvas) reach(bands []Reach, xs, ys scale, top float64) {
	var edge []XY
	for _, b := range bands {
		edge = append(edge, XY{b.X, b.Hi})
	}
	for _, b := range slices.Backward(bands) {
		edge = append(edge, XY{b.X, b.Lo})
	}
	if len(bands) > 1 {
		c.printf("<path class=\"reach\" d=\"%sZ\"/>\n", trace(edge, xs, ys, top))
	}
}

// ends writes the letters of lines with keys behind their last points, moved apart
// where they would cover each other.
func (c *canvas) ends(lines []Line, xs, ys scale, top, tall float64) {
	const step = 13.0
	type end struct {
		x, y float64
		line Line
	}
	var all []end
	for _, l := range lines {
		if l.Key < 0 || l.Key >= MostKeys || len(l.Points) == 0 {
			continue
		}
		last := l.Points[len(l.Points)-1]
		all = append(all, end{xs.x(last.X) + 9, top + ys.x(last.Y), l})
	}
	slices.SortStableFunc(all, func(a, b end) int {
		switch {
		case a.y < b.y:
			return -1
		case a.y > b.y:
			return 1
		}
		return 0
	})
	for i := range all {
		if i > 0 {
			all[i].y = max(all[i].y, all[i-1].y+step)
		}
	}
	low := top + tall
	for i := len(all) - 1; i >= 0; i-- {
		all[i].y = min(all[i].y, low)
		low = all[i].y - step
	}
	for _, e := range all {
		c.printf("<text x=\"%s\" y=\"%s\" class=\"end %s\"%s>%s</text>\n", n(e.x), n(e.y+4), keyClass(e.line.Key), group(e.line.Group), letter(e.line.Key))
	}
}

// flag draws a vertical mark with its text at the top.
func (c *canvas) flag(f Flag, x, top, tall float64) {
	tip := ""
	if f.Tip != "" {
		tip = "<title>" + esc(wording.Cut(f.Tip, 300)) + "</title>"
	}
	c.printf("<path class=\"flag\" d=\"M%s %sv%s\">%s</path>\n", n(x), n(top), n(tall), tip)
	c.text(x+4, top+10, "tick", "start", wording.Cut(wording.Clean(f.Text), 8))
}

// spots draws trials or steps. On a page those that count are one path, and so are
// those that say nothing.
func (c *canvas) spots(spots []Spot, xs, ys scale, top float64) {
	var discs, rings, blocks strings.Builder
	for _, s := range spots {
		x, y := xs.x(s.X), top+ys.x(s.Y)
		switch {
		case c.page && s.Look == Counts:
			discs.WriteString("M" + pair(x, y) + "h0")
			blocks.WriteString(" " + strconv.Itoa(s.No))
		case c.page && s.Look == Open && s.Tip == "":
			rings.WriteString("M" + pair(x-2.5, y) + ring)
		default:
			c.spot(s, x, y)
		}
	}
	if rings.Len() > 0 {
		c.printf("<path class=\"ring\" d=\"%s\"/>\n", rings.String())
	}
	if discs.Len() > 0 {
		c.printf("<path class=\"spot\" data-n=\"%s\" d=\"%s\"/>\n", blocks.String()[1:], discs.String())
	}
}

// ring is a circle to the right of where a path is.
const ring = "a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0z"

// spot draws one trial or step.
func (c *canvas) spot(s Spot, x, y float64) {
	d, class := "", "out"
	switch s.Look {
	case Ruled:
		d = "M" + n(x-3) + " " + n(y-3) + "l6 6m0-6l-6 6"
	case Broken:
		d = "M" + n(x-4) + " " + n(y-4) + "h8v8h-8zl8 8m0-8l-8 8"
	case Void:
		d = "M" + n(x-4) + " " + n(y-4) + "h8v8h-8zm1 4h6"
	case Open:
		d, class = "M"+pair(x-2.5, y)+ring, "ring"
	default:
		d, class = "M"+n(x)+" "+n(y)+"h0", "spot"
	}
	tip := ""
	if s.Tip != "" {
		tip = "<title>" + esc(wording.Cut(s.Tip, 300)) + "</title>"
	}
	c.printf("<path class=\"%s\" d=\"%s\">%s</path>\n", class, d, tip)
}
