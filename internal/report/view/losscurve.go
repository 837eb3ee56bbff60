package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/wording"
)

// lossCurve shows the loss over load in the searches of a workload, one lane for each mode,
// with the resulting throughputs. False where there are none.
func (w workload) lossCurve() (workloadChart, bool) {
	s := workloadChart{Plane: chart.Plane{Title: "Loss over load", Tall: 66}}
	if len(w.Tables) == 0 {
		return s, false
	}
	var loads []float64
	rows := w.Tables[0].rows()
	for _, r := range rows {
		for _, p := range stepsIn(r) {
			loads = append(loads, p.load)
		}
	}
	scale := wording.ScaleFor("bit/s", loads...)
	zero := 0.0
	s.Plane.X = chart.Dim{Lo: &zero, Label: "offered load, payload, " + scale.Unit}
	s.Plane.Y = chart.Dim{Ticks: chart.LossTicks(), Kind: chart.LossKind, Lo: &zero, Hi: ptrTo(chart.LossAt(0.1))}
	most, cut, limited := max(40, mostSpots/max(1, len(rows))), false, false
	for _, r := range rows {
		l := chart.Lane{Label: r.Mode.ID, Group: r.No}
		steps := stepsIn(r)
		switch {
		case unmeasured(r.Mode):
			l.Tone, l.Note, l.Absent = chart.Absent, state(r.Mode), orText(r.Mode.Reason, state(r.Mode))
		case len(steps) == 0:
			l.Tone, l.Absent = chart.Absent, r.unjudged()
		default:
			cut = cut || len(steps) > most
			for _, p := range downsampled(steps, most) {
				spot := chart.Spot{X: scale.In(p.load), Y: chart.LossAt(p.loss), Tip: scale.Value(p.load) + ": " + loss(p.loss)}
				if p.limited {
					spot.Look, spot.Tip, limited = chart.Open, "", true
				}
				l.Spots = append(l.Spots, spot)
			}
			l.Lines = medianLoss(steps, scale)
			l.Levels = []float64{chart.LossAt(0.01)}
			l.Flags, l.Note = w.throughputs(r, scale)
			s.Desc += wording.Cut(r.Mode.ID, 60) + ": " + wording.Count(len(steps), "step", "steps") + "; " + orText(l.Note, "no throughput found") + ". "
		}
		s.Plane.Lanes = append(s.Plane.Lanes, l)
	}
	if len(loads) == 0 {
		return s, false
	}
	s.Caption = "A dot is a step of a search: its load and loss, on a scale that is logarithmic above 0. " +
		"The line is the median step at each load. The dotted vertical lines are the throughput without loss (0 %) and at 1 % loss."
	if limited {
		s.Caption += " A ring is a step in which the sender did not reach the load; it does not describe the path."
	}
	if cut {
		s.Caption += fmt.Sprintf(" At most %d steps of a mode are drawn, evenly over the loads.", most)
	}
	s.Desc = wording.Cut(s.Desc, 1500)
	return s, true
}

// stepOf is a step of a search in bits and ratio.
type stepOf struct {
	load, loss float64
	limited    bool
}

// stepsIn are the steps of a row's valid searches, from the lowest load on.
func stepsIn(r row) []stepOf {
	var out []stepOf
	if unmeasured(r.Mode) {
		return nil
	}
	for _, t := range r.Trials {
		if t.Search == nil || t.Status != result.TrialOK {
			continue
		}
		for _, s := range t.Steps {
			load := s.Load * 8 * float64(t.Search.Payload)
			if finite(&load) && load > 0 && finite(&s.LossRatio) && s.LossRatio >= 0 {
				out = append(out, stepOf{load, s.LossRatio, s.Limited})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b stepOf) int { return cmp.Compare(a.load, b.load) })
	return out
}

// medianLoss joins the medians of the steps at loads with the same text.
func medianLoss(steps []stepOf, scale wording.Scale) []chart.Line {
	line := chart.Line{Key: -1}
	var at []float64
	load, name := 0.0, ""
	put := func() {
		if len(at) > 0 {
			slices.Sort(at)
			line.Points = append(line.Points, chart.XY{X: scale.In(load), Y: chart.LossAt(median(at))})
		}
		at = nil
	}
	for _, s := range steps {
		if s.limited {
			continue
		}
		if text := scale.Number(s.load); text != name {
			put()
			load, name = s.load, text
		}
		at = append(at, s.loss)
	}
	put()
	line.Points = downsampled(line.Points, mostSpots/4)
	if len(line.Points) < 2 {
		return nil
	}
	return []chart.Line{line}
}

// throughputs are the rates found for a mode, as flags and in words.
func (w workload) throughputs(r row, scale wording.Scale) (flags []chart.Flag, note string) {
	for _, f := range []struct{ metric, text string }{{"throughput_0", "0 %"}, {"throughput_1", "1 %"}} {
		i := slices.IndexFunc(w.Tables, func(t table) bool { return t.Metric.Name == f.metric })
		if i < 0 {
			continue
		}
		own, ok := w.Tables[i].of(r.Mode.ID)
		if !ok || own.Cell == nil || !finite(own.Cell.Value) {
			continue
		}
		v := wording.AtLeast(*own.Cell, scale.Number(*own.Cell.Value))
		if note != "" {
			note += ", "
		}
		note += f.text + ": " + v
		text := f.text
		if len(flags) > 0 && flags[0].X == scale.In(*own.Cell.Value) {
			flags[0].Text, text = "0, 1 %", ""
		}
		flags = append(flags, chart.Flag{X: scale.In(*own.Cell.Value), Text: text, Tip: w.Tables[i].Metric.Title + ": " + v + " " + scale.Unit})
	}
	if note != "" {
		note += " " + scale.Unit
	}
	return flags, note
}

// chart draws the loss of a sweep over its loads, one lane for each mode: every trial, and the
// mean of each load. False where there is nothing to draw.
func (s sweep) chart(v view) (workloadChart, bool) {
	out := workloadChart{Plane: chart.Plane{Title: "Loss over load", Tall: 66}}
	type load struct {
		rate float64
		t    table
	}
	var loads []load
	var rates []float64
	for _, w := range v.Workloads {
		if before, _, ok := strings.Cut(w.ID, "@"); !ok || before != s.ID {
			continue
		}
		for _, t := range w.Tables {
			if rate := t.rate(); t.Metric.Name == "loss_ratio" && rate > 0 {
				loads, rates = append(loads, load{rate, t}), append(rates, rate)
			}
		}
	}
	if len(loads) < 2 {
		return out, false
	}
	slices.SortStableFunc(loads, func(a, b load) int { return cmp.Compare(a.rate, b.rate) })
	scale, zero := wording.ScaleFor("bit/s", rates...), 0.0
	out.Plane.X = chart.Dim{Lo: &zero, Label: "offered load, payload, " + scale.Unit}
	out.Plane.Y = chart.Dim{Ticks: chart.LossTicks(), Kind: chart.LossKind, Lo: &zero, Hi: ptrTo(chart.LossAt(0.1))}
	rows := loads[0].t.rows()
	most, cut := max(40, mostSpots/len(rows)), false
	for _, r := range rows {
		l := chart.Lane{Label: r.Mode.ID, Group: r.No}
		if unmeasured(r.Mode) {
			l.Tone, l.Note, l.Absent = chart.Absent, state(r.Mode), orText(r.Mode.Reason, state(r.Mode))
			out.Plane.Lanes = append(out.Plane.Lanes, l)
			continue
		}
		line := chart.Line{Key: -1}
		for _, at := range loads {
			own, _ := at.t.of(r.Mode.ID)
			for _, trial := range own.Trials {
				if x, ok := trial.Metrics["loss_ratio"]; ok && trial.Status == result.TrialOK && finite(&x) {
					l.Spots = append(l.Spots, chart.Spot{X: scale.In(at.rate), Y: chart.LossAt(x), No: trial.Block, Tip: fmt.Sprintf("block %d, %s: %s", trial.Block, scale.Value(at.rate), loss(x))})
				}
			}
			if own.Cell != nil && finite(own.Cell.Value) {
				line.Points = append(line.Points, chart.XY{X: scale.In(at.rate), Y: chart.LossAt(*own.Cell.Value)})
			}
		}
		if cut = cut || len(l.Spots) > most; len(l.Spots) == 0 {
			l.Tone, l.Absent = chart.Absent, "no valid trial"
		}
		l.Spots, l.Lines = downsampled(l.Spots, most), []chart.Line{line}
		out.Plane.Lanes = append(out.Plane.Lanes, l)
		out.Desc += wording.Cut(r.Mode.ID, 60) + " " + orText(s.words(r.Mode.ID), "has no value") + ". "
	}
	out.Caption = "A dot is a trial, the line the mean at each load, on a scale that is logarithmic above 0."
	if cut {
		out.Caption += fmt.Sprintf(" At most %d trials of a mode are drawn.", most)
	}
	out.Desc = wording.Cut(out.Desc, 1500)
	return out, out.Plane.Has()
}

// rate is the offered payload of a table's trials, bit/s; 0 where it is unknown.
func (t table) rate() float64 {
	for _, r := range t.rows() {
		for _, trial := range r.Trials {
			if finite(&trial.Rate) && trial.Rate > 0 {
				return trial.Rate
			}
		}
	}
	return 0
}
