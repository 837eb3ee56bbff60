package report

import (
	"math"

	"tare/internal/report/chart"
	"tare/internal/report/say"
)

// curves are durations of all modes in one plot, share of all to the right.
type curves struct {
	shown
	lane   chart.Lane
	lo, hi float64 // of what is drawn, in base units
	absent int     // modes of which nothing is known
}

func newCurves(title string) *curves {
	return &curves{shown: shown{Plane: chart.Plane{Title: title, Tall: 190}}, lane: chart.Lane{Tone: chart.Plain}, lo: math.Inf(1)}
}

// spans widens the plot to what lies between two durations.
func (p *curves) spans(lo, hi float64) { p.lo, p.hi = min(p.lo, lo), max(p.hi, hi) }

// draw adds a mode's line, which words tell, too.
func (p *curves) draw(of row, line chart.Line, words string) {
	line.Key, line.Group = len(p.Keys), of.No
	p.Keys = append(p.Keys, of.Mode.ID)
	p.Desc += say.Cut(of.Mode.ID, 60) + ":" + words + ". "
	p.lane.Lines = append(p.lane.Lines, line)
}

// drawRings adds the percentiles of a mode, joined by a line, if any are known.
func (p *curves) drawRings(c percentileCurve, mode int, last float64) {
	rings, words := c.rings(mode, last)
	if len(rings) == 0 {
		p.absent++
		return
	}
	var line chart.Line
	for _, ring := range rings {
		line.Points = append(line.Points, chart.XY{X: ring.X, Y: ring.Y})
	}
	for _, v := range c.values(mode) {
		p.spans(v, v)
	}
	p.lane.Spots = append(p.lane.Spots, rings...)
	p.draw(c.Modes[mode], line, words)
}

// drawn is the plot with its caption. Missing stands behind what is said of the scale.
func (p *curves) drawn(x chart.Dim, caption, missing string) shown {
	x.Label = "share of all that took no longer"
	p.Plane.X, p.Plane.Lanes = x, []chart.Lane{p.lane}
	if p.Plane.Y.Log = p.hi > 8*p.lo; p.Plane.Y.Log {
		caption += " Log scale."
	} else {
		p.Plane.Y.Lo = ptrTo(0.0)
	}
	caption += missing
	if p.absent > 0 {
		caption += " " + say.Count(p.absent, "mode has", "modes have") + " none."
	}
	if len(p.Keys) > chart.MostKeys {
		caption += " Lines without a letter are those of further modes."
	}
	p.Caption, p.Desc = caption, say.Cut(p.Desc, 1500)
	return p.shown
}
