package sheet

import (
	"math"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/wording"
)

// Curves are durations of all modes in one plot, share of all to the right.
type Curves struct {
	WorkloadChart
	Lane   chart.Lane
	lo, hi float64 // of what is drawn, in base units
	Absent int     // modes without values
}

// NewCurves begins a plot.
func NewCurves(title string) *Curves {
	return &Curves{WorkloadChart: WorkloadChart{Plane: chart.Plane{Title: title, Tall: 190}}, Lane: chart.Lane{Tone: chart.Plain}, lo: math.Inf(1)}
}

// Spans widens the plot to hold two durations.
func (p *Curves) Spans(lo, hi float64) { p.lo, p.hi = min(p.lo, lo), max(p.hi, hi) }

// Draw adds a mode's line, with a description.
func (p *Curves) Draw(of model.Row, line chart.Line, words string) {
	line.Key, line.Group = len(p.Keys), of.No
	p.Keys = append(p.Keys, of.Mode.ID)
	p.Desc += wording.Cut(of.Mode.ID, 60) + ":" + words + ". "
	p.Lane.Lines = append(p.Lane.Lines, line)
}

// Drawn is the plot with its caption. Missing follows the note on the scale.
func (p *Curves) Drawn(x chart.Dim, caption, missing string) WorkloadChart {
	x.Label = "share of all that took no longer"
	p.Plane.X, p.Plane.Lanes = x, []chart.Lane{p.Lane}
	if p.Plane.Y.Log = p.hi > 8*p.lo; p.Plane.Y.Log {
		caption += " Log scale."
	} else {
		p.Plane.Y.Lo = new(0.0)
	}
	caption += missing
	if p.Absent > 0 {
		caption += " " + wording.Count(p.Absent, "mode has", "modes have") + " none."
	}
	if len(p.Keys) > chart.MostKeys {
		caption += " Lines without a letter are those of further modes."
	}
	p.Caption, p.Desc = caption, wording.Cut(p.Desc, 1500)
	return p.WorkloadChart
}
