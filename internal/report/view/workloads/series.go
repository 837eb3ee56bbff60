package workloads

import (
	"math"
	"slices"

	"tare/internal/report/chart"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
	"tare/internal/wording"
)

// fewLines is up to how many trials each trial has its own line; more trials are drawn as a
// median with its range.
const fewLines = 3

// slot is the values of one mode's trials in one time slot of their windows.
type slot struct {
	Values []float64 // one of each trial that has it, sorted
}

func (s slot) mid() float64 {
	if len(s.Values) == 0 {
		return math.NaN()
	}
	return piece.Median(s.Values)
}

// timed is the rate of a workload's trials over their timed windows, by mode.
type timed struct {
	Metric result.Metric
	Scale  wording.Scale
	Width  float64 // of a slot, s
	Modes  []model.Row
	Slots  [][]slot   // by mode
	Trials []int      // by mode: how many have a series
	Lines  [][]series // by mode: each trial, where there are few
}

type series []float64

// timedOf collects the series of a workload's valid trials, in at most so many time slots,
// none finer than the coarsest series. False without any.
func timedOf(t model.Table, most int) (timed, bool) {
	var out timed
	long, grain := 0.0, 0.0
	for _, r := range t.Rows() {
		for _, trial := range r.Trials {
			if s := usable(trial); s != nil && !model.Unmeasured(r.Mode) {
				if out.Metric.Name == "" {
					out.Metric = result.Metric{Name: s.Metric, Title: wording.Clean(s.Metric)}
					if m, ok := result.MetricNamed(s.Metric); ok {
						out.Metric = m
					}
				}
				long, grain = max(long, s.Interval*float64(len(s.Values))), max(grain, s.Interval)
			}
		}
	}
	n := min(most, int(math.Floor(long/grain+1e-6)))
	if grain <= 0 || n < 2 {
		return out, false
	}
	out.Width = long / float64(n)
	var ends []float64 // the lowest and the highest of each slot
	line, count := make(series, n), make([]float64, n)
	for _, r := range t.Rows() {
		slots, lines, trials := make([]slot, n), []series(nil), 0
		for _, trial := range r.Trials {
			s := usable(trial)
			if s == nil || s.Metric != out.Metric.Name || model.Unmeasured(r.Mode) {
				continue
			}
			binned(s, out.Width, line, count)
			if trials++; trials <= fewLines {
				lines = append(lines, slices.Clone(line))
			}
			for i, v := range line {
				if !math.IsNaN(v) {
					slots[i].Values = append(slots[i].Values, v)
				}
			}
		}
		for i := range slots {
			if v := slots[i].Values; len(v) > 0 {
				slices.Sort(v)
				ends = append(ends, v[0], v[len(v)-1])
			}
		}
		if trials > fewLines {
			lines = nil
		}
		out.Modes, out.Slots, out.Trials, out.Lines = append(out.Modes, r), append(out.Slots, slots), append(out.Trials, trials), append(out.Lines, lines)
	}
	out.Scale = wording.ScaleFor(out.Metric.Unit, ends...)
	return out, len(ends) > 0
}

// usable is the series of a valid trial, nil where it cannot be drawn.
func usable(t *result.Trial) *result.Series {
	s := t.Series
	if t.Status != result.TrialOK || s == nil || len(s.Values) < 2 || !(s.Interval > 0) || s.Interval > 1e6 {
		return nil
	}
	return s
}

// binned makes sum the means of a series over as many slots of that width; slots without a
// value are NaN. It counts in count, which is as long.
func binned(s *result.Series, width float64, sum series, count []float64) {
	clear(sum)
	clear(count)
	for i, v := range s.Values {
		at := int((float64(i) + 0.5) * s.Interval / width)
		if at >= 0 && at < len(sum) && piece.Finite(&v) {
			sum[at] += v
			count[at]++
		}
	}
	for i := range sum {
		sum[i] /= count[i] // 0/0 is not a number, which is what it means
	}
}

// chart draws the lanes.
func (t timed) chart() sheet.WorkloadChart {
	s := sheet.WorkloadChart{Plane: chart.Plane{Title: "Within a trial: " + (model.Table{Metric: t.Metric, Scale: t.Scale}).Inline()}}
	zero, end := 0.0, t.Width*float64(len(t.Slots[0]))
	s.Plane.X = chart.Dim{Lo: &zero, Hi: &end, Label: "time within the timed window, s"}
	s.Plane.Y = chart.Dim{Lo: &zero}
	lines, bands := false, false
	for i, r := range t.Modes {
		l := chart.Lane{Label: r.Mode.ID, Group: r.No}
		switch {
		case model.Unmeasured(r.Mode):
			l.Tone, l.Note, l.Absent = chart.Absent, model.State(r.Mode), piece.OrText(r.Mode.Reason, model.State(r.Mode))
		case t.Trials[i] == 0:
			l.Tone, l.Absent = chart.Absent, "no trial with a series"
		case len(t.Lines[i]) > 0:
			lines = true
			for _, one := range t.Lines[i] {
				l.Lines = append(l.Lines, chart.Line{Points: t.points(func(j int) float64 { return one[j] }), Key: -1})
			}
		default:
			bands = true
			for j, at := range t.Slots[i] {
				if n := len(at.Values); n > 0 {
					l.Bands = append(l.Bands, chart.Reach{X: t.at(j), Lo: t.Scale.In(at.Values[0]), Hi: t.Scale.In(at.Values[n-1])})
				}
			}
			l.Lines = []chart.Line{{Points: t.points(func(j int) float64 { return t.Slots[i][j].mid() }), Key: -1}}
		}
		if n := t.Trials[i]; n > 0 {
			l.Note = wording.Count(n, "trial", "trials")
			s.Desc += wording.Cut(r.Mode.ID, 60) + ": " + t.spread(i) + ". "
		}
		s.Plane.Lanes = append(s.Plane.Lanes, l)
	}
	if bands {
		s.Caption = "The line is the median of the trials at that moment of their timed windows, the band all of them. "
	}
	if lines {
		s.Caption += "Of few trials each has a line. "
	}
	s.Caption += "A point is the mean of " + piece.Seconds(t.Width) + "."
	s.Desc = wording.Cut(s.Desc, 1500)
	return s
}

func (t timed) at(slot int) float64 { return (float64(slot) + 0.5) * t.Width }

func (t timed) points(of func(slot int) float64) []chart.XY {
	var out []chart.XY
	for j := range t.Slots[0] {
		v := of(j)
		out = append(out, chart.XY{X: t.at(j), Y: t.Scale.In(v)})
	}
	return out
}

// spread describes the lowest and the highest median of a mode.
func (t timed) spread(mode int) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range t.Slots[mode] {
		if v := s.mid(); !math.IsNaN(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		return wording.Unknown
	}
	return "median between " + t.Scale.Number(lo) + " and " + t.Scale.Value(hi)
}

// tableOf is the table behind the lanes.
func (t timed) tableOf() sheet.Behind {
	b := sheet.Behind{Caption: (model.Table{Metric: t.Metric, Scale: t.Scale}).Heading() + ": median (lowest to highest trial)", First: "Time, s"}
	var at []int
	for i, r := range t.Modes {
		if t.Trials[i] > 0 {
			b.Heads = append(b.Heads, r.Mode.ID)
			at = append(at, i)
		}
	}
	for j := range t.Slots[0] {
		row := sheet.BehindRow{Name: wording.Plain(round3(float64(j)*t.Width)) + "-" + wording.Plain(round3(float64(j+1)*t.Width))}
		for _, i := range at {
			v := t.Slots[i][j].Values
			text := wording.Unknown
			if n := len(v); n > 0 {
				text = t.Scale.Estimate(new(piece.Median(v)), &result.Interval{v[0], v[n-1]})
			}
			row.Cells = append(row.Cells, text)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }
