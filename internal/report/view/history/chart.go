package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// figure draws the series of a mode over time, a line for each machine.
func (v *historyView) figure(f historyFigure, id string) doc.Block {
	axis := v.axis(f)
	lane := chart.Lane{Label: f[0].Mode, Tone: chart.Plain, Note: "no change found"}
	out := doc.Figure{Look: doc.Shown, ID: id, Behind: v.behind(f)}
	lo, hi := math.Inf(1), math.Inf(-1)
	var changes, ends []string
	for _, s := range f {
		line := chart.Series{Key: s.machine}
		for _, p := range s.Points {
			r := &s.of.Runs[p.Run]
			tip := fmt.Sprintf("%s, run %s: %s", v.date(r.Started), runName(r), wording.Ratio(&p.Ratio, p.RatioCI))
			if r.Note != "" {
				tip += "; " + wording.Cut(r.Note, 120)
			}
			line.Points = append(line.Points, chart.SeriesPoint{X: axis.at(s, p.Run), Y: p.Ratio, Interval: piece.Limits(p.RatioCI), Tip: tip})
			lo, hi = min(lo, p.Ratio), max(hi, p.Ratio)
		}
		line.Levels = levelsOf(s, line.Points)
		for _, found := range v.of(s) {
			line.Changes = append(line.Changes, chart.LevelChange{X: line.Points[found.Point].X, Tone: found.tone(), Tip: found.words() + " " + v.since(found)})
			changes = append(changes, found.words()+" "+v.since(found))
		}
		if n := len(s.Changes); n > 0 && lane.Tone == chart.Plain {
			last := v.of(s)[0]
			lane.Tone, lane.Note = last.tone(), last.words()
		}
		lane.Series = append(lane.Series, line)
		if len(f) > 1 {
			out.Keys = append(out.Keys, doc.Key{No: s.machine, Name: v.machine(s.machine)})
		}
		end := s.first() + " first, " + s.last() + " last of " + wording.Count(len(s.Points), "run", "runs")
		if len(f) > 1 {
			end = v.machine(s.machine) + ": " + end
		}
		ends = append(ends, end)
	}
	lane.Flags = v.flags(f, axis)
	lo, hi = historyRange(f, lo, hi)
	p := chart.Plane{Title: "Ratio to " + piece.OrUnknown(f[0].Baseline), Tall: 150, Lanes: []chart.Lane{lane},
		X: chart.Dim{Lo: &axis.lo, Hi: &axis.hi, Ticks: axis.ticks, Label: axis.label, Kind: chart.Untold}, Y: chart.Dim{Lo: &lo, Hi: &hi}}
	desc := strings.Join(ends, ". ") + "."
	if len(changes) > 0 {
		desc += " " + strings.Join(changes, ". ") + "."
	}
	out.Caption = wording.Cut(strings.Join(ends, "; "), 300)
	out.Drawings = []doc.Drawing{chart.Figure{Title: f[0].Mode + ", " + f[0].Workload + ", " + piece.Noun(f[0].metric), Desc: wording.Cut(desc, 1500), Planes: []chart.Plane{p}}}
	return out
}

const historyLegend = "In the figures a dot is a run, with its 95 % interval. A thick line is the level between changes, and a mark at the foot is at the " +
	"first run after a change. A dotted line is a change of the environment, with its number in the table of these."

// levelsOf are the levels between the changes of a series: geometric means, as its change points
// have them.
func levelsOf(s *historySeries, at []chart.SeriesPoint) []chart.Level {
	var out []chart.Level
	from := 0
	cuts := []int{}
	for _, c := range s.Changes {
		cuts = append(cuts, c.Point)
	}
	slices.Sort(cuts)
	for _, to := range append(cuts, len(s.Points)) {
		if to <= from {
			continue
		}
		sum := 0.0
		for _, p := range s.Points[from:to] {
			sum += math.Log(p.Ratio)
		}
		out = append(out, chart.Level{From: at[from].X, To: at[to-1].X, Y: math.Exp(sum / float64(to-from))})
		from = to
	}
	return out
}

// historyRange is the vertical range of a figure: all ratios, at least 10 % of them, and the
// intervals as far as they are not much wider than that.
func historyRange(f historyFigure, lo, hi float64) (from, to float64) {
	mid := (lo + hi) / 2
	room := max(hi-lo, 0.1*mid)
	from, to = min(lo, mid-room/2), max(hi, mid+room/2)
	least, most := from-room/2, to+room/2
	for _, s := range f {
		for _, p := range s.Points {
			if iv := piece.Limits(p.RatioCI); iv != nil {
				from, to = min(from, max(iv[0], least)), max(to, min(iv[1], most))
			}
		}
	}
	return max(from, 0), to
}

// timeAxis is the horizontal axis of a figure: days since begin or, where the clock of a machine
// was set back or is unknown, the number of the run.
type timeAxis struct {
	byRun  bool
	begin  time.Time
	lo, hi float64
	ticks  []chart.Tick
	label  string
}

// at is where a run is.
func (a timeAxis) at(s *historySeries, run int) float64 {
	if a.byRun {
		return float64(run + 1)
	}
	return s.of.Runs[run].Started.Sub(a.begin).Hours() / 24
}

// axis is that of a figure. It covers all runs of its machines, so that the figures of a page
// agree where they are of the same ones.
func (v *historyView) axis(f historyFigure) timeAxis {
	a := timeAxis{lo: 1, hi: 1}
	var end time.Time
	for _, s := range f {
		a.hi = max(a.hi, float64(len(s.of.Runs)))
		for i, r := range s.of.Runs {
			if r.Started.IsZero() || i > 0 && r.Started.Before(s.of.Runs[i-1].Started) {
				a.byRun = true
			}
			if a.begin.IsZero() || r.Started.Before(a.begin) {
				a.begin = r.Started
			}
			if r.Started.After(end) {
				end = r.Started
			}
		}
	}
	if days := end.Sub(a.begin).Hours() / 24; !a.byRun && days > 0 {
		a.lo, a.hi = 0, days
		a.ticks = dateTicks(a.begin, end)
		a.label = "start of the run, UTC, " + v.date(a.begin) + " to " + v.date(end)
		return a
	}
	a.byRun, a.label = true, "runs in their order"
	for i := range int(a.hi) {
		if step := max(1, (int(a.hi)+9)/10); i%step == 0 {
			a.ticks = append(a.ticks, chart.Tick{At: float64(i + 1), Label: fmt.Sprint(i + 1)})
		}
	}
	return a
}

// dateTicks are at most six round dates or times, as days since begin.
func dateTicks(begin, end time.Time) []chart.Tick {
	const most = 6
	begin, end = begin.UTC(), end.UTC()
	long := end.Sub(begin)
	day := time.Date(begin.Year(), begin.Month(), begin.Day(), 0, 0, 0, 0, time.UTC)
	var out []chart.Tick
	add := func(t time.Time, layout string) {
		if !t.Before(begin) && !t.After(end) {
			out = append(out, chart.Tick{At: t.Sub(begin).Hours() / 24, Label: t.Format(layout)})
		}
	}
	const days = 24 * time.Hour
	for _, step := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour} {
		if long <= most*step {
			for t := begin.Truncate(step); !t.After(end); t = t.Add(step) {
				add(t, "15:04")
			}
			return out
		}
	}
	for _, step := range []time.Duration{days, 2 * days, 7 * days, 14 * days} {
		if long <= most*step {
			for t := day; !t.After(end); t = t.Add(step) {
				add(t, "2 Jan")
			}
			return out
		}
	}
	months := 1
	for _, n := range []int{1, 2, 3, 6, 12, 24, 60, 120, 600} {
		if months = n; long.Hours()/24/30.4 <= float64(most*n) {
			break
		}
	}
	for i := 0; i <= 2*most; i++ {
		add(time.Date(begin.Year(), begin.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, i*months, 0), "Jan 2006")
	}
	return out
}

// flags are the changes of the environment of a figure's machines. Of those that are too close to
// the one before only the line is drawn.
func (v *historyView) flags(f historyFigure, a timeAxis) []chart.Flag {
	var out []chart.Flag
	const apart = 0.05 // of the axis, which is room for a number
	last := math.Inf(-1)
	for i, m := range v.marks {
		at := slices.IndexFunc(f, func(s *historySeries) bool { return s.machine == m.machine })
		if at < 0 {
			continue
		}
		flag := chart.Flag{X: a.at(f[at], m.run), Tip: fmt.Sprintf("%d, %s%s", i+1, v.where(m.machine, m.run), m.text)}
		if flag.X-last >= apart*(a.hi-a.lo) {
			flag.Text, last = fmt.Sprint(i+1), flag.X
		}
		out = append(out, flag)
	}
	slices.SortStableFunc(out, func(x, y chart.Flag) int {
		switch {
		case x.X < y.X:
			return -1
		case x.X > y.X:
			return 1
		}
		return 0
	})
	return out
}

// behind is the table behind a figure: each point.
func (v *historyView) behind(f historyFigure) *doc.Table {
	several := len(v.Machines) > 1
	t := &doc.Table{Kind: doc.Behind, Label: f[0].Mode + ", run by run", Groups: []doc.Group{{}}}
	t.Columns = []doc.Column{{Head: "Run", Row: true, Names: true}, {Head: "Started"}, {Head: "Ratio", Number: true}, {Head: "95 % interval", Number: true}, {Head: "Change"}}
	if several {
		t.Columns = append(t.Columns, doc.Column{Head: "Machine", Names: true})
	}
	for _, s := range f {
		for i, p := range s.Points {
			r := &s.of.Runs[p.Run]
			change := ""
			if at := slices.IndexFunc(s.Changes, func(c result.ChangePoint) bool { return c.Point == i }); at >= 0 {
				change = historyFound{s, s.Changes[at], r}.words()
			}
			ratio, interval, _ := strings.Cut(wording.Ratio(&p.Ratio, p.RatioCI), " (")
			row := doc.Row{Cells: []doc.Cell{{Text: runName(r)}, {Text: wording.Time(r.Started)}, {Text: ratio}, {Text: strings.TrimSuffix(interval, ")")}, {Text: change}}}
			if several {
				row.Cells = append(row.Cells, doc.Cell{Text: v.machine(s.machine)})
			}
			t.Groups[0].Rows = append(t.Groups[0].Rows, row)
		}
	}
	return t
}
