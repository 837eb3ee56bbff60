package chart

import (
	"math"

	"tare/internal/wording"
)

// scale maps values to pixels.
type scale struct {
	lo, hi float64
	x0, x1 float64
	log    bool
}

// span is a growing range.
type span struct {
	lo, hi float64
	some   bool
}

// add widens the range to v. No measurement is as extreme as the values that it
// leaves out, and the arithmetic of the axis must not overflow on them.
func (s *span) add(v float64) {
	const most = 1e100
	switch {
	case math.IsNaN(v) || math.Abs(v) > most:
		return
	case math.Abs(v) < 1/most:
		v = 0
	}
	if !s.some {
		s.lo, s.hi, s.some = v, v, true
		return
	}
	s.lo, s.hi = min(s.lo, v), max(s.hi, v)
}

// newScale chooses the range of a panel. Dots, estimates, the reference line and
// the band are always inside. Intervals may widen the range to twice that; one
// that reaches further is cut, and drawn as cut.
func newScale(p Panel, x0, x1 float64) scale {
	var core span
	if p.Axis.Ref != nil {
		core.add(*p.Axis.Ref)
	}
	if b := p.Axis.Band; b != nil {
		core.add(b[0])
		core.add(b[1])
	}
	if p.Axis.Zero {
		core.add(0)
	}
	for _, r := range p.Rows {
		for _, d := range r.Dots {
			core.add(d.X)
		}
		if r.Estimate != nil {
			core.add(*r.Estimate)
		}
		core.reach(r.Parts)
	}
	all := core
	reach := (core.hi - core.lo) / 2
	for _, r := range p.Rows {
		if iv := r.Interval; iv != nil && core.some {
			all.add(max(iv[0], core.lo-reach))
			all.add(min(iv[1], core.hi+reach))
		}
	}
	if !all.some {
		all = span{0, 1, true}
	}
	return fit(p.Axis, all, core, x0, x1)
}

// fit adds a little air on both sides, but keeps a zero where it is asked for.
func fit(a Axis, all, core span, x0, x1 float64) scale {
	s := scale{lo: all.lo, hi: all.hi, x0: x0, x1: x1}
	if a.Ratio {
		s.lo = max(s.lo, core.lo/2)
		s.log = s.lo > 0 && s.hi/s.lo > 4
	}
	if s.log {
		air := math.Pow(s.hi/s.lo, 0.04)
		s.lo, s.hi = s.lo/air, s.hi*air
		return s
	}
	air := (s.hi - s.lo) * 0.04
	if air == 0 {
		air = max(math.Abs(s.hi)*0.1, 1e-12)
	}
	if !a.Zero || s.lo < 0 {
		s.lo -= air
	}
	s.hi += air
	return s
}

// x is the pixel of a value, kept within the panel.
func (s scale) x(v float64) float64 {
	v = min(max(v, s.lo), s.hi)
	f := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		f = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return s.x0 + f*(s.x1-s.x0)
}

// tick is a round value on an axis and how it is written.
type tick struct {
	value float64
	label string
}

// ticks are round values within the range: about seven, or as many as have room
// for what is written below them.
func (s scale) ticks() []tick {
	if s.log {
		return s.logTicks()
	}
	var out []tick
	for n := 6.0; n >= 1; n-- {
		out = s.evenTicks(niceStep((s.hi - s.lo) / n))
		width := 0
		for _, t := range out {
			width += len(t.label) + 2
		}
		if float64(width)*charWidth < s.x1-s.x0 {
			break
		}
	}
	return out
}

func (s scale) evenTicks(step float64) []tick {
	places := 0
	for p := step; places < 9 && math.Abs(p-math.Round(p)) > 1e-6; places++ {
		p *= 10
	}
	var out []tick
	for i := math.Ceil(s.lo / step); i*step <= s.hi && len(out) < 20; i++ {
		v := i*step + 0 // no -0
		out = append(out, tick{v, wording.Fixed(v, places)})
	}
	return out
}

// niceStep is the next of 1, 2, 2.5 and 5 times a power of ten.
func niceStep(rough float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*base >= rough {
			return m * base
		}
	}
	return 10 * base
}

// logTicks are 1, 2, 3, 5 and 7 in every decade, or 1, 2 and 5, or 1 in every
// decade, in every second and so on, until there is room for them.
func (s scale) logTicks() []tick {
	first, last := int(math.Floor(math.Log10(s.lo))), int(math.Ceil(math.Log10(s.hi)))
	var out []tick
	for try := 0; ; try++ {
		steps, stride := []float64{1}, max(1, try-1)
		switch try {
		case 0:
			steps = []float64{1, 2, 3, 5, 7}
		case 1:
			steps = []float64{1, 2, 5}
		}
		out = out[:0]
		for e := first; e <= last; e++ {
			if e%stride != 0 {
				continue
			}
			for _, m := range steps {
				if v := m * math.Pow10(e); v >= s.lo && v <= s.hi {
					out = append(out, tick{v, wording.Fixed(v, max(0, -e))})
				}
			}
		}
		if len(out) <= 8 {
			return out
		}
	}
}
