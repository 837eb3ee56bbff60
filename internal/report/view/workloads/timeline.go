package workloads

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
	"tare/internal/wording"
)

// maxDeviation is how far from its mode's median a trial of a timeline is drawn; a larger
// deviation is drawn at the edge.
const maxDeviation = 1.0

// timeline shows the trials of a workload over the time of the run, as deviations from the
// median of their mode, so that drift shows. False where times or values are unknown.
func timeline(t model.Table, begin time.Time) (sheet.WorkloadChart, bool) {
	s := sheet.WorkloadChart{Plane: chart.Plane{Title: "Trials in time order: " + piece.Noun(t.Metric)}}
	unit, long := spanOf(t, begin)
	if unit == 0 {
		return s, false
	}
	most, cut := 0.05, false
	each := max(20, sheet.MostSpots/max(1, len(t.Rows())))
	var bad int
	for _, r := range t.Rows() {
		l := chart.Lane{Label: r.Mode.ID, Group: r.No}
		if model.Unmeasured(r.Mode) {
			l.Tone, l.Note, l.Absent = chart.Absent, model.State(r.Mode), piece.OrText(r.Mode.Reason, model.State(r.Mode))
			s.Plane.Lanes = append(s.Plane.Lanes, l)
			continue
		}
		mid, n := middle(r, t.Metric.Name)
		line, all := make([]chart.XY, 0, n), make([]timelineSpot, 0, len(r.Trials))
		for _, trial := range r.Trials {
			spot := spot(t, trial, mid, trial.Started.Sub(begin).Seconds()/unit)
			if spot.Look == chart.Counts {
				line = append(line, chart.XY{X: spot.X, Y: spot.Y})
			} else {
				bad++
			}
			if v := math.Abs(spot.Y); !math.IsInf(v, 0) && spot.Look != chart.Broken && spot.Look != chart.Void {
				most = max(most, v)
			}
			all = append(all, spot)
		}
		switch {
		case len(all) == 0:
			l.Tone, l.Absent = chart.Absent, "no trial"
		case n == 0:
			l.Note = "no valid trial"
		default:
			l.Note = "median " + t.Scale.Value(mid)
		}
		cut = cut || len(all) > each
		for _, p := range limitSpots(all, each) {
			p.Tip = tip(t, p.trial, mid)
			l.Spots = append(l.Spots, p.Spot)
		}
		if len(line) > 1 {
			l.Lines = []chart.Line{{Points: piece.Downsampled(line, each), Key: -1, Thin: true}}
		}
		l.Levels = []float64{0}
		s.Plane.Lanes = append(s.Plane.Lanes, l)
	}
	for i := range s.Plane.Lanes {
		for j := range s.Plane.Lanes[i].Spots {
			if spot := &s.Plane.Lanes[i].Spots[j]; math.IsInf(spot.Y, -1) {
				spot.Y = -most
			}
		}
	}
	zero := 0.0
	s.Plane.X = chart.Dim{Lo: &zero, Hi: &long, Label: "time since the run began, " + unitName(unit)}
	s.Plane.Y = chart.Dim{Lo: new(-most), Hi: new(most), Ticks: deviations(most), Kind: chart.Fraction}
	s.Caption = "A dot is a trial, where it ran and how far it is from the median of its mode. Drift in all modes alike comes from the machine."
	if bad > 0 {
		s.Caption += " A cross was ruled out, a boxed cross failed, a boxed bar is a trial whose path was not proven; trials without a value are at the bottom."
	}
	if cut {
		s.Caption += fmt.Sprintf(" Of a mode's trials at most %d are drawn, evenly.", each)
	}
	s.Desc = drift(t)
	return s, s.Plane.Has()
}

// timelineSpot is a trial with its spot in the timeline. There may be many, of which few are
// drawn.
type timelineSpot struct {
	chart.Spot
	trial *result.Trial
}

// spot is a trial at x in the timeline, without its tip; one without a value is at minus
// infinity, which becomes the bottom.
func spot(t model.Table, trial *result.Trial, mid, x float64) timelineSpot {
	s := timelineSpot{chart.Spot{X: x, Y: math.Inf(-1), No: trial.Block}, trial}
	v, ok := trial.Metrics[t.Metric.Name]
	if ok = ok && piece.Finite(&v) && mid > 0; ok {
		s.Y = min(max(v/mid-1, -maxDeviation), maxDeviation)
	}
	switch {
	case trial.Status == result.TrialOK && ok:
	case trial.Status == result.TrialOK, trial.Status == result.TrialInvalid:
		s.Look = chart.Ruled
	case trial.Void:
		s.Look = chart.Void
	default:
		s.Look = chart.Broken
	}
	return s
}

// tip is the tooltip of a trial in the timeline.
func tip(t model.Table, trial *result.Trial, mid float64) string {
	text := fmt.Sprintf("block %d, trial %d", trial.Block, trial.Seq)
	v, ok := trial.Metrics[t.Metric.Name]
	if ok = ok && piece.Finite(&v) && mid > 0; ok {
		text += ": " + t.Scale.Value(v) + ", " + wording.Change(v/mid)
	}
	if trial.Status == result.TrialOK && ok {
		return text
	}
	return text + ", " + wording.Cut(string(trial.Status)+": "+piece.OrText(trial.Reason, "no reason is recorded"), 160)
}

// middle is the median of a row's valid trials, 0 of none.
func middle(r model.Row, metric string) (mid float64, n int) {
	values := make([]float64, 0, len(r.Trials))
	for _, t := range r.Trials {
		if v, ok := t.Metrics[metric]; ok && t.Status == result.TrialOK && piece.Finite(&v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0, 0
	}
	slices.Sort(values)
	return piece.Median(values), len(values)
}

// limitSpots reduces the spots, dropping plain trials first.
func limitSpots(all []timelineSpot, most int) []timelineSpot {
	if len(all) <= most {
		return all
	}
	var plain, other []timelineSpot
	for _, s := range all {
		if s.Look == chart.Counts {
			plain = append(plain, s)
		} else {
			other = append(other, s)
		}
	}
	other = piece.Downsampled(other, most/2)
	return append(piece.Downsampled(plain, most-len(other)), other...)
}

// spanOf is the unit of time for a run of that length, in seconds, and the time from
// its beginning to its last trial in that unit. 0 where a trial has no time.
func spanOf(t model.Table, begin time.Time) (unit, long float64) {
	last := 0.0
	for _, r := range t.Rows() {
		for _, trial := range r.Trials {
			s := trial.Started.Sub(begin).Seconds()
			if trial.Started.IsZero() || begin.IsZero() || s < 0 || s > 1e8 {
				return 0, 0
			}
			last = max(last, s)
		}
	}
	switch {
	case last == 0:
		return 0, 0
	case last < 300:
		unit = 1
	case last < 3*3600:
		unit = 60
	default:
		unit = 3600
	}
	return unit, last / unit
}

func unitName(seconds float64) string {
	switch seconds {
	case 60:
		return "min"
	case 3600:
		return "h"
	}
	return "s"
}

// deviations are ticks from -most to most that have 0 among them.
func deviations(most float64) []chart.Tick {
	step := 0.01
	for _, s := range []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1} {
		if most >= s {
			step = s
		}
	}
	var out []chart.Tick
	for i := math.Ceil(-most / step); i*step <= most; i++ {
		label := "0 %"
		if i != 0 {
			label = fmt.Sprintf("%+.0f %%", i*step*100)
		}
		out = append(out, chart.Tick{At: i * step, Label: label})
	}
	return out
}

// drift describes how far the trials of each mode were apart, and how the later half compares
// with the earlier one.
func drift(t model.Table) string {
	text := ""
	for _, r := range t.Rows() {
		if model.Unmeasured(r.Mode) {
			text += r.Mode.ID + ": " + model.State(r.Mode) + ". "
			continue
		}
		var ok []*result.Trial
		for _, trial := range r.Trials {
			if _, has := trial.Metrics[t.Metric.Name]; has && trial.Status == result.TrialOK {
				ok = append(ok, trial)
			}
		}
		text += wording.Cut(r.Mode.ID, 60) + ": " + wording.Count(len(ok), "valid trial", "valid trials")
		if n := len(ok); n >= 4 {
			slices.SortStableFunc(ok, func(a, b *result.Trial) int { return cmp.Compare(a.Seq, b.Seq) })
			early, late := model.Row{Trials: ok[:n/2]}, model.Row{Trials: ok[n-n/2:]}
			a, _ := middle(early, t.Metric.Name)
			b, _ := middle(late, t.Metric.Name)
			if a > 0 {
				text += ", the later half " + wording.Change(b/a) + " against the earlier"
			}
		}
		if lost := len(r.Trials) - len(ok); lost > 0 {
			text += ", " + wording.Count(lost, "does", "do") + " not count"
		}
		text += ". "
	}
	return wording.Cut(text, 1500)
}
