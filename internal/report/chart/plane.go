package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/wording"
)

// Plane is a panel of lanes above each other, small multiples with the same two axes:
// what changes over something, for one mode a lane or for all in one.
type Plane struct {
	Title string
	X, Y  Dim
	Lanes []Lane
	Tall  float64 // a lane's height in pixels; 0 stands for 44
}

// Dim is an axis of a plane. It covers all that is drawn; Lo and Hi widen it.
type Dim struct {
	Lo, Hi *float64
	Log    bool
	// Ticks are fixed ones; round values where there are none.
	Ticks []Tick
	Label string // below a horizontal axis
	// Kind says how a value is read from its place, where it is not the value itself.
	Kind Kind
}

// Kind is what the places on an axis stand for.
type Kind string

// The kinds: the value itself; a ratio of loss, by [LossAt]; a fraction to be read in
// percent; a share of all, by [QuantileAt]. Untold is a place that a page reads no value from.
const (
	Untold   Kind = "untold"
	Itself   Kind = ""
	LossKind Kind = "loss"
	Fraction Kind = "percent"
	TailKind Kind = "tail"
)

// Tick is a place on an axis with what is written there.
type Tick struct {
	At    float64
	Label string
}

// Lane is one mode, or one plot that several share.
type Lane struct {
	Label, Note string
	Tone        Tone
	Group       int // which mode it is, from 1; 0 for none. A page finds what belongs together by it.
	// Absent says why there is nothing to draw.
	Absent string
	Bands  []Reach // one band, from left to right
	Lines  []Line
	Spots  []Spot
	Flags  []Flag
	Levels []float64 // horizontal lines
	Series []Series
}

// Reach is what a band covers at X.
type Reach struct{ X, Lo, Hi float64 }

// XY is a point of a line.
type XY struct{ X, Y float64 }

// Line joins points. Key gives it a colour, a dash and, at its end, a letter; below 0 it
// has the lane's colour.
type Line struct {
	Points []XY
	Key    int
	Thin   bool
	Dense  bool // more points than can be told apart, of which some may be left out
	Group  int
}

// Spot is one trial or step.
type Spot struct {
	X, Y float64
	No   int // of its block, 0 for none
	Tip  string
	Look SpotLook
}

// SpotLook is the shape of a spot.
type SpotLook string

// The looks: a disc; a cross for what does not count; a boxed cross for what failed; a
// boxed bar for a path that was not proven; a ring for what says nothing.
const (
	Counts SpotLook = ""
	Ruled  SpotLook = "ruled"
	Broken SpotLook = "broken"
	Void   SpotLook = "void"
	Open   SpotLook = "open"
)

// Flag is a vertical mark over the height of a lane.
type Flag struct {
	X    float64
	Text string // a few letters at its top
	Tip  string
}

// Measures of a plane, in pixels of the drawing.
const (
	laneTall  = 44.0
	laneInset = 48.0 // from the panel's left edge to the horizontal axis, at least: room for the vertical one's labels
	levelGap  = 10.0 // between those labels and the axis
	tickWidth = 7.5  // of a letter beside an axis, in the widest of the usual fonts
	lanePad   = 5.0  // from a lane's edges to the vertical axis
)

func (p Plane) tall() float64 {
	if p.Tall > 0 {
		return p.Tall
	}
	return laneTall
}

func (p Plane) laneHeight(l Lane) float64 {
	h := rowGap
	if l.Label != "" || l.Note != "" {
		h += labelHeight
	}
	if l.Absent != "" {
		return h + blankHeight
	}
	return h + p.tall()
}

func (p Plane) height() float64 {
	h := headHeight + axisHeight
	for _, l := range p.Lanes {
		h += p.laneHeight(l)
	}
	return h
}

// plane draws p with its top left corner at x, y.
func (c *canvas) plane(p Plane, x, y float64) {
	xs, ys := p.scales(x)
	at := ""
	if c.page && p.X.Kind != Untold {
		at = axisData("x", xs, string(p.X.Kind)) + axisData("y", ys, string(p.Y.Kind))
	}
	c.printf("<g%s>\n", at)
	defer c.printf("</g>\n")
	c.text(x, y+13, "head", "start", wording.Cut(wording.Clean(p.Title), 54))
	top := y + headHeight
	for _, l := range p.Lanes {
		c.lane(p, l, xs, ys, x, top)
		top += p.laneHeight(l)
	}
	c.line("axis", xs.x0, top, xs.x1, top)
	for _, t := range ticksOf(p.X, xs) {
		c.line("axis", xs.x(t.At), top, xs.x(t.At), top+4)
		c.text(xs.x(t.At), top+16, "tick", "middle", t.Label)
	}
	c.text((xs.x0+xs.x1)/2, top+33, "dim", "middle", wording.Cut(wording.Clean(p.X.Label), 60))
}

// scales cover what the lanes hold. The vertical one is that of a lane whose top is at
// 0: its pixels are counted from there.
func (p Plane) scales(x float64) (xs, ys scale) {
	var h, v span
	for d, s := range map[*Dim]*span{&p.X: &h, &p.Y: &v} {
		for _, end := range []*float64{d.Lo, d.Hi} {
			if end != nil {
				s.add(*end)
			}
		}
	}
	at := func(x, y float64) {
		h.add(x)
		v.add(y)
	}
	for _, l := range p.Lanes {
		for _, b := range l.Bands {
			at(b.X, b.Lo)
			at(b.X, b.Hi)
		}
		for _, line := range l.Lines {
			for _, q := range line.Points {
				at(q.X, q.Y)
			}
		}
		for _, s := range l.Spots {
			at(s.X, s.Y)
		}
		for _, f := range l.Flags {
			h.add(f.X)
		}
		for _, y := range l.Levels {
			v.add(y)
		}
		for _, s := range l.Series {
			for _, r := range s.Points {
				at(r.X, r.Y)
			}
		}
	}
	right := x + panelWidth - inset
	if slices.ContainsFunc(p.Lanes, func(l Lane) bool {
		return slices.ContainsFunc(l.lettered(), func(l Line) bool { return l.Key >= 0 })
	}) {
		right -= 10 // for the letters
	}
	ys = bounded(p.Y, v, p.tall()-lanePad, lanePad)
	left := laneInset
	for _, t := range levels(p.Y, ys) {
		left = max(left, float64(wording.Width(t.Label))*tickWidth+levelGap)
	}
	return bounded(p.X, h, x+left, right), ys
}

// bounded is the scale of a dimension without air around: what is drawn has its own.
func bounded(d Dim, s span, from, to float64) scale {
	if !s.some {
		s = span{0, 1, true}
	}
	if s.lo == s.hi {
		s.lo, s.hi = s.lo-math.Max(math.Abs(s.lo)*0.1, 1e-12), s.hi+math.Max(math.Abs(s.hi)*0.1, 1e-12)
	}
	return scale{lo: s.lo, hi: s.hi, x0: from, x1: to, log: d.Log && s.lo > 0}
}

// ticksOf are the fixed ticks within the scale, or round values.
func ticksOf(d Dim, s scale) []Tick {
	if len(d.Ticks) == 0 {
		var out []Tick
		for _, t := range s.ticks() {
			out = append(out, Tick{t.value, t.label})
		}
		return out
	}
	var out []Tick
	slack := (s.hi - s.lo) * 1e-9
	for _, t := range d.Ticks {
		if t.At >= s.lo-slack && t.At <= s.hi+slack {
			out = append(out, t)
		}
	}
	return out
}

// levels are the ticks of a vertical axis: as many as its height has room for.
func levels(d Dim, s scale) []Tick {
	room := (s.x0 - s.x1) / 13
	all := d.Ticks
	switch {
	case len(all) > 0:
		all = ticksOf(d, s)
	case s.log:
		for _, t := range s.logTicks() {
			all = append(all, Tick{t.value, t.label})
		}
	default:
		for n := math.Max(1, math.Floor(room)); n >= 1; n-- {
			all = all[:0]
			for _, t := range s.evenTicks(niceStep((s.hi - s.lo) / n)) {
				all = append(all, Tick{t.value, t.label})
			}
			if float64(len(all)) <= room+1 {
				break
			}
		}
	}
	return spread(all, s)
}

// spread leaves out ticks whose labels would run into the one below.
func spread(all []Tick, s scale) []Tick {
	var out []Tick
	last := math.Inf(1)
	for _, t := range all {
		if y := s.x(t.At); last-y >= 11 {
			out, last = append(out, t), y
		}
	}
	return out
}

// lane draws one lane with its top left corner at x, y.
func (c *canvas) lane(p Plane, l Lane, xs, ys scale, x, y float64) {
	at := ""
	if c.page && l.Absent == "" {
		at = " data-top=\"" + n(y+p.laneHeight(l)-rowGap-p.tall()) + "\""
	}
	c.printf("<g class=\"t-%s\"%s%s>\n", toneClass(l.Tone), group(l.Group), at)
	defer c.printf("</g>\n")
	if l.Label != "" || l.Note != "" {
		note := wording.Cut(wording.Clean(l.Note), 46)
		room := int((panelWidth-float64(wording.Width(note))*(charWidth-0.4))/charWidth) - 2
		c.label(l.Label, max(room, 8), x, y+12)
		c.text(x+panelWidth, y+12, "note", "end", note)
		y += labelHeight
	}
	if l.Absent != "" {
		c.text(x, y+11, "dim", "start", wording.Cut(wording.Clean(l.Absent), 60))
		return
	}
	c.rect("strip", xs.x0-6, y, xs.x1-xs.x0+12, p.tall())
	var grid strings.Builder
	for _, t := range levels(p.Y, ys) {
		at := y + ys.x(t.At)
		grid.WriteString("M" + pair(xs.x0-6, at) + "H" + n(xs.x1+6))
		c.text(xs.x0-levelGap, at+4, "tick", "end", t.Label)
	}
	if grid.Len() > 0 {
		c.printf("<path class=\"grid\" d=\"%s\"/>\n", grid.String())
	}
	for _, v := range l.Levels {
		c.line("level", xs.x0-6, y+ys.x(v), xs.x1+6, y+ys.x(v))
	}
	c.flags(l, xs, y, p.tall())
	c.reach(l.Bands, xs, ys, y)
	for _, line := range l.Lines {
		c.curve(line, xs, ys, y)
	}
	for _, s := range l.Series {
		c.series(s, xs, ys, y, p.tall())
	}
	c.ends(l.lettered(), xs, ys, y, p.tall())
	c.spots(l.Spots, xs, ys, y)
}

// group marks what belongs to a mode.
func group(mode int) string {
	if mode <= 0 {
		return ""
	}
	return " data-m=\"" + strconv.Itoa(mode) + "\""
}

// Has says that there is anything to see in the lanes.
func (p Plane) Has() bool {
	for _, l := range p.Lanes {
		if len(l.Bands)+len(l.Lines)+len(l.Spots)+len(l.Flags)+len(l.Series) > 0 {
			return true
		}
	}
	return false
}
