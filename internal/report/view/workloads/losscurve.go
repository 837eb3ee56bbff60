package workloads

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
	"tare/internal/wording"
)

// lossCurve shows the loss over load in the searches of a workload, one lane for each mode,
// with the resulting throughputs. False where there are none.
func lossCurve(w model.Workload) (sheet.WorkloadChart, bool) {
	s := sheet.WorkloadChart{Plane: chart.Plane{Title: "Loss over load", Tall: 66}}
	if len(w.Tables) == 0 {
		return s, false
	}
	var loads []float64
	rows := w.Tables[0].Rows()
	for _, r := range rows {
		for _, p := range stepsIn(r) {
			loads = append(loads, p.load)
		}
	}
	scale := wording.ScaleFor("bit/s", loads...)
	zero := 0.0
	s.Plane.X = chart.Dim{Lo: &zero, Label: "offered load, payload, " + scale.Unit}
	s.Plane.Y = chart.Dim{Ticks: chart.LossTicks(), Kind: chart.LossKind, Lo: &zero, Hi: new(chart.LossAt(0.1))}
	most, cut, limited := max(40, sheet.MostSpots/max(1, len(rows))), false, false
	for _, r := range rows {
		l := chart.Lane{Label: r.Mode.ID, Group: r.No}
		steps := stepsIn(r)
		switch {
		case model.Unmeasured(r.Mode):
			l.Tone, l.Note, l.Absent = chart.Absent, model.State(r.Mode), piece.OrText(r.Mode.Reason, model.State(r.Mode))
		case len(steps) == 0:
			l.Tone, l.Absent = chart.Absent, r.Unjudged()
		default:
			cut = cut || len(steps) > most
			for _, p := range piece.Downsampled(steps, most) {
				spot := chart.Spot{X: scale.In(p.load), Y: chart.LossAt(p.loss), Tip: scale.Value(p.load) + ": " + piece.Loss(p.loss)}
				if p.limited {
					spot.Look, spot.Tip, limited = chart.Open, "", true
				}
				l.Spots = append(l.Spots, spot)
			}
			l.Lines = medianLoss(steps, scale)
			l.Levels = []float64{chart.LossAt(0.01)}
			l.Flags, l.Note = throughputs(w, r, scale)
			s.Desc += wording.Cut(r.Mode.ID, 60) + ": " + wording.Count(len(steps), "step", "steps") + "; " + piece.OrText(l.Note, "no throughput found") + ". "
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
func stepsIn(r model.Row) []stepOf {
	var out []stepOf
	if model.Unmeasured(r.Mode) {
		return nil
	}
	for _, t := range r.Trials {
		if t.Search == nil || t.Status != result.TrialOK {
			continue
		}
		for _, s := range t.Steps {
			load := s.Load * 8 * float64(t.Search.Payload)
			if piece.Finite(&load) && load > 0 && piece.Finite(&s.LossRatio) && s.LossRatio >= 0 {
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
			line.Points = append(line.Points, chart.XY{X: scale.In(load), Y: chart.LossAt(piece.Median(at))})
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
	line.Points = piece.Downsampled(line.Points, sheet.MostSpots/4)
	if len(line.Points) < 2 {
		return nil
	}
	return []chart.Line{line}
}

// throughputs are the rates found for a mode, as flags and in words.
func throughputs(w model.Workload, r model.Row, scale wording.Scale) (flags []chart.Flag, note string) {
	for _, f := range []struct{ metric, text string }{{"throughput_0", "0 %"}, {"throughput_1", "1 %"}} {
		i := slices.IndexFunc(w.Tables, func(t model.Table) bool { return t.Metric.Name == f.metric })
		if i < 0 {
			continue
		}
		own, ok := w.Tables[i].Of(r.Mode.ID)
		if !ok || own.Cell == nil || !piece.Finite(own.Cell.Value) {
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
