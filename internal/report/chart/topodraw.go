package chart

import (
	"fmt"
	"strings"

	"tare/internal/wording"
)

// topology draws what was laid out, from x and y on.
func (c *canvas) topology(t Topology, l layout, x, y float64) {
	c.printf("<g transform=\"translate(%s %s)\">\n", n(x), n(y))
	defer c.printf("</g>\n")
	for _, f := range l.frames {
		class, at := "frame", 15.0
		if f.inner {
			class, at = "frame inner", 12
		}
		c.rounded(class, f.area, 5)
		title := wording.Clean(f.title)
		if !f.inner {
			title = "host " + title
		}
		c.cut("dim", f.x+framePad, f.y+at, f.w-2*framePad, title, "")
	}
	if l.wire > 0 {
		c.underlay(l)
	}
	for _, j := range t.Joins {
		c.join(t, l, j)
	}
	for i, s := range t.Stops {
		if l.stops[i].w > 0 {
			c.stop(s, l.stops[i], l.column[i] < 0)
		}
	}
	for _, b := range l.beside {
		c.besides(t, b)
	}
	if l.left > 0 {
		c.text(l.width-framePad, 14, "dim", "end", fmt.Sprintf("%d more not drawn", l.left))
	}
}

// rounded draws a rectangle with round corners.
func (c *canvas) rounded(class string, a area, r float64) {
	c.printf("<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"%s\"/>\n", class, n(a.x), n(a.y), n(a.w), n(a.h), n(r))
}

// cut writes a text into a width; what was cut, or the tip, is shown where a pointer
// rests on it.
func (c *canvas) cut(class string, x, y, width float64, text, tip string) {
	text = wording.Clean(text)
	short := wording.CutMiddle(text, max(3, int(width/topoChar)))
	if tip == "" && short != text {
		tip = text
	}
	if tip == "" {
		c.text(x, y, class, "start", short)
		return
	}
	c.printf("<text x=\"%s\" y=\"%s\" class=\"%s\">%s<title>%s</title></text>\n", n(x), n(y), class, esc(short), esc(wording.Cut(tip, 300)))
}

// topoChar and boldChar are the widths of a letter of a drawing's small text and of its
// names, generously.
const (
	topoChar = 5.5
	boldChar = 7.1
)

// stop draws a box with its name, what it is, and what was counted there.
func (c *canvas) stop(s Stop, a area, across bool) {
	look := s.Look
	switch look {
	case Process, Rule, Tunnel:
	default:
		look = Device
	}
	class := "stop " + string(look)
	for _, r := range s.Readings {
		if r.Sign == Misfits {
			class += " misfit"
			break
		}
	}
	radius := 2.0
	if look == Process {
		radius = 9
	}
	c.rounded(class, a, radius)
	if look == Tunnel { // a second line within
		c.rounded(class+" within", area{a.x + 2.5, a.y + 2.5, a.w - 5, a.h - 5}, radius)
	}
	const pad = 8
	label := s.Label
	if across && s.Sandbox != "" {
		label = s.Sandbox + " / " + label
	}
	room := a.w - 2*pad
	short := wording.CutMiddle(wording.Clean(label), int(room/boldChar))
	c.cut("label", a.x+pad, a.y+14, room/boldChar*topoChar, label, "")
	left := room - float64(wording.Width(short))*boldChar - 4
	if note := wording.Clean(s.Note); float64(wording.Width(note))*topoChar <= left {
		c.text(a.x+a.w-pad, a.y+14, "dim", "end", note)
	} else if first, _, more := strings.Cut(note, ", "); more && float64(wording.Width(first))*topoChar <= left {
		c.text(a.x+a.w-pad, a.y+14, "dim", "end", first)
	}
	for i, r := range s.Readings {
		y := a.y + stopTitle + float64(i+1)*lineHeight - 2.5
		if i == mostReadings-1 && len(s.Readings) > mostReadings {
			c.text(a.x+pad+12, y, "dim", "start", fmt.Sprintf("and %d more counters", len(s.Readings)-i))
			return
		}
		c.reading(r, a.x+pad, y, room)
	}
}

// reading writes what a counter showed behind its sign.
func (c *canvas) reading(r Reading, x, y, room float64) {
	class := "reading"
	switch r.Sign {
	case Fits:
		c.printf("<path class=\"sign fits\" d=\"M%s %sl2.8 3l5 -6.6\"/>\n", n(x), n(y-3.6))
	case Misfits:
		class += " misfits"
		c.printf("<path class=\"sign misfits\" d=\"M%s %sl6.4 6.4m0 -6.4l-6.4 6.4\"/>\n", n(x+0.6), n(y-7))
	}
	c.cut(class, x+12, y, room-12, r.Text, r.Tip)
}

// join draws the way from one stop to another. Stops that are drawn below each other
// are joined straight, those that end their columns through the underlay, all others by
// a curve.
func (c *canvas) join(t Topology, l layout, j Join) {
	if j.From < 0 || j.To < 0 || j.From >= len(l.stops) || j.To >= len(l.stops) {
		return
	}
	a, b := l.stops[j.From], l.stops[j.To]
	if a.w == 0 || b.w == 0 || j.From == j.To {
		return
	}
	var d string
	switch {
	case l.below[j.From] == j.To: // down
		d = "M" + n(a.middle()) + " " + n(a.bottom()) + "V" + n(b.y-1) + arrow(a.middle(), b.y-1, 1)
	case l.below[j.To] == j.From: // up
		d = "M" + n(b.middle()) + " " + n(a.y) + "V" + n(b.bottom()+1) + arrow(b.middle(), b.bottom()+1, -1)
	case l.wire > 0 && l.below[j.From] < 0 && l.below[j.To] < 0 && l.column[j.From] != l.column[j.To]:
		d = "M" + n(a.middle()) + " " + n(a.bottom()) + "V" + n(l.wire) + "H" + n(b.middle()) + "V" + n(b.bottom()+1) + arrow(b.middle(), b.bottom()+1, -1)
	default:
		ay, by := a.y+a.h/2, b.y+b.h/2
		ax, bx := a.x+a.w, b.x
		if b.x < a.x {
			ax, bx = a.x, b.x+b.w
		} else if a.x == b.x {
			bx = ax
		}
		mid := (ax + bx) / 2
		if ax == bx {
			mid = ax + 12
		}
		d = "M" + n(ax) + " " + n(ay) + "C" + n(mid) + " " + n(ay) + " " + n(mid) + " " + n(by) + " " + n(bx) + " " + n(by)
	}
	class := "way"
	if t.Broken {
		class += " broken"
	}
	c.printf("<path class=\"%s\" d=\"%s\"/>\n", class, d)
}

// arrow is a head at x, y that points down with 1 and up with -1.
func arrow(x, y, down float64) string {
	return "M" + n(x-4) + " " + n(y-5*down) + "L" + n(x) + " " + n(y) + "L" + n(x+4) + " " + n(y-5*down)
}

// underlay draws what joins the hosts.
func (c *canvas) underlay(l layout) {
	c.text(l.width/2, l.wire+15, "dim", "middle", "underlay")
}

// besides lists what had to rest.
func (c *canvas) besides(t Topology, b besides) {
	c.rounded("frame aside", b.area, 5)
	c.cut("dim", b.x+framePad, b.y+14, b.w-2*framePad, "must rest on "+wording.Clean(b.title), "")
	y := b.y + stopTitle
	for _, at := range b.stops {
		s := t.Beside[at]
		y += lineHeight
		name := s.Label
		if s.Sandbox != "" {
			name = s.Sandbox + "/" + name
		}
		r := Reading{Text: name, Tip: s.Note}
		for _, of := range s.Readings[:min(len(s.Readings), 1)] {
			r = Reading{Text: name + ": " + of.Text, Sign: of.Sign, Tip: of.Tip}
		}
		c.reading(r, b.x+framePad+2, y-2.5, b.w-2*framePad-2)
	}
	if b.more > 0 {
		c.text(b.x+framePad+14, y+lineHeight-2.5, "dim", "start", fmt.Sprintf("and %d more", b.more))
	}
}
