package view

import (
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// mainColumn is a metric of a workload that the first screen shows.
type mainColumn struct {
	table
	changeForm
	name string // of the workload
	rank int
	load bool // its loss ratio is shown as it is, not as a change
}

// withForms decides how the cells of the column are written.
func (c mainColumn) withForms(units Units) mainColumn {
	var ratios []*float64
	var times []*result.Added
	for _, r := range c.rows() {
		if r.Cell != nil && !r.Baseline && r.Cell.Ratio != nil {
			ratios, times = append(ratios, r.Cell.Ratio), append(times, r.Cell.Added)
		}
	}
	c.changeForm = changeFormOf(units, ratios, times)
	return c
}

// delta is the change of a cell with its interval and, beside it, its time.
func (c mainColumn) delta(cell *result.Cell) doc.OverviewCell {
	return c.cell(cell.Ratio, cell.RatioCI, cell.Added)
}

// changeForm is how the changes of one column of a first screen are written: all alike.
type changeForm struct {
	form wording.Form
	time *wording.Scale // of the times beside them; nil where there are none, or none is asked for
	each string         // what a time is for, such as a transaction; empty where it is the time itself
	only bool           // show times in place of changes
}

// changeFormOf is the form of the changes of a column: their ratios, each with its time or nil.
func changeFormOf(units Units, ratios []*float64, added []*result.Added) changeForm {
	c := changeForm{form: wording.FormOf(ratios...)}
	var times []float64
	for _, a := range added {
		if a != nil {
			seconds, each := wording.Each(*a)
			times, c.each = append(times, seconds.Value), each
		}
	}
	if len(times) > 0 && units != UnitPercent {
		scale := wording.ScaleFor("s", times...)
		c.time, c.only = &scale, units == UnitTime && len(times) == len(added)
	}
	return c
}

// cell is a change with its interval and, beside it, its time.
func (c changeForm) cell(ratio *float64, ci *result.Interval, added *result.Added) (out doc.OverviewCell) {
	if c.time != nil && added != nil {
		a, _ := wording.Each(*added)
		if c.only {
			out.Change, out.Interval = c.time.Added(a)
			return out
		}
		out.Time, _ = c.time.Added(a)
	}
	out.Change, out.Interval = c.form.Delta(ratio, ci)
	return out
}

// timeLegend explains the times of a column of this metric; empty without any, or where the metric is the time itself.
func (c changeForm) timeLegend(m result.Metric) string {
	if c.time == nil || c.each == "" || m.Unit != "1/s" {
		return ""
	}
	return "+" + c.time.Unit + " for each " + c.each
}

// told is a cell's change in a sentence, with the time where there is one.
func (c mainColumn) told(cell *result.Cell) string {
	alone := *cell
	alone.RatioCI = nil // which decides on the decimals
	d := c.delta(&alone)
	if d.Time != "" {
		return d.Change + ", " + d.Time
	}
	return d.Change
}

// mainColumns chooses the metrics of the first screen in the order in which they are
// shown: of each workload its main metric, its loss ratio where anything was lost and its
// 99th percentile, and one CPU cost at the end.
func (b *builder) mainColumns() []mainColumn {
	var out []mainColumn
	add := func(w string, t table, class int) {
		if t.worthAColumn() {
			out = append(out, mainColumn{table: t, name: w, rank: class, load: t.Metric.Name == "loss_ratio"}.withForms(b.Units))
		}
	}
	const (
		link = iota // the CPU cost, where the link limits goodput
		primary
		cpu
		tail
		loss
		sweep
	)
	var costs []mainColumn
	for _, w := range b.Workloads {
		for i, t := range w.Tables {
			switch {
			case b.swept(w.ID):
				if metric, _ := b.curve(w.ID); t.Metric.Name == metric {
					add(w.ID, t, sweep)
				}
			case t.Metric.Primary || i == 0 && result.Searched(t.Metric.Name): // a search without the goal 0
				add(w.ID, t, primary)
			case t.Metric.Name == "loss_ratio":
				if t.anyAboveZero() {
					add(w.ID, t, loss)
				}
			case !t.Metric.Detail && strings.HasSuffix(t.Metric.Name, "_p99") && t.Metric.Name != "delay_variation_p99":
				add(w.ID, t, tail)
			case strings.HasPrefix(t.Metric.Name, "cpu_cost") && t.judged():
				costs = append(costs, mainColumn{table: t, name: w.ID, rank: cpu}.withForms(b.Units))
			}
		}
	}
	if p := b.Evidence.Pass; p != nil {
		for _, t := range p.Tables {
			if t.Metric.Name == result.CPUCost && t.judged() {
				costs = []mainColumn{mainColumn{table: t, name: atFixedRate, rank: cpu}.withForms(b.Units)}
				break
			}
		}
	}
	if len(costs) > 0 {
		c := costs[0]
		if len(b.Run.LinkLimited) > 0 {
			c.rank = link
		}
		out = append(out, c)
	}
	return ranked(out)
}

// atFixedRate names the pass at a fixed rate in the place of a workload.
const atFixedRate = "at a fixed rate"

// ranked turns the classes of columns into ranks without gaps; columns of one class rank
// in their order.
func ranked(columns []mainColumn) []mainColumn {
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return columns[x].rank - columns[y].rank })
	for rank, i := range order {
		columns[i].rank = rank
	}
	return columns
}

func (t table) anyAboveZero() bool {
	return slices.ContainsFunc(t.rows(), func(r row) bool { return r.Cell != nil && r.Cell.Value != nil && *r.Cell.Value > 0 })
}

// titles shortens the titles of metrics for the head of a column.
var titles = strings.NewReplacer(", median", " p50", ", 90th percentile", " p90", ", 99th percentile", " p99", ", 99.9th percentile", " p99.9")

// each1000 writes a cost per 1000 exchanges as the same number per exchange, which is shorter.
var each1000 = strings.NewReplacer("us/1000 transactions", "ns/transaction", "ms/1000 transactions", "us/transaction",
	"s/1000 transactions", "ms/transaction", "us/1000 connections", "ns/connection", "ms/1000 connections", "us/connection",
	"s/1000 connections", "ms/connection")

func shortTitle(m result.Metric) string { return titles.Replace(noun(m)) }

// overviewCell is a row of a table as one cell of the first screen.
func (r row) overviewCell(t mainColumn) doc.OverviewCell {
	c := r.Cell
	plain := func(text string) doc.OverviewCell { return doc.OverviewCell{Tone: chart.Plain, Change: text} }
	unsure := func(text string) doc.OverviewCell {
		return doc.OverviewCell{Tone: chart.Unsure, Mark: markOf(chart.Unsure), Change: text}
	}
	switch {
	case c == nil && len(r.Trials) == 0:
		return plain(wording.Unknown)
	case c == nil && slices.ContainsFunc(r.Trials, func(t *result.Trial) bool { return t.Status == result.TrialOK }):
		return plain("not judged")
	case c == nil || c.Value == nil && c.Ratio == nil:
		return doc.OverviewCell{Tone: chart.Absent, Change: "no valid trial"}
	case (r.Baseline || c.Baseline == "") && c.Value != nil:
		cell := plain(wording.AtLeast(*c, each1000.Replace(t.Scale.Value(*c.Value))))
		if t.time != nil && t.Metric.Unit == "1/s" && *c.Value > 0 {
			cell.Time = wording.ScaleFor("s", 1 / *c.Value).Value(1 / *c.Value)
		}
		return cell
	case c.Verdict == result.Same && c.Ratio == nil, t.load && zero(c) && r.baseZero:
		return plain("none in either")
	case t.load && c.Value != nil:
		cell := plain(t.Scale.Value(*c.Value))
		if tone := r.tone(); tone == chart.Worse || tone == chart.Better {
			cell.Tone, cell.Mark = tone, markOf(tone)
		}
		return cell
	case c.Verdict == result.CannotTell && r.Noisy:
		return unsure("(noisy)")
	case c.Verdict == result.CannotTell && (c.AtLeast || r.Bounded):
		return unsure("(sender limit)")
	case c.Ratio == nil && c.Value != nil:
		return unsure(wording.AtLeast(*c, t.Scale.Value(*c.Value)))
	}
	out := t.delta(c)
	out.Tone, out.Mark = r.tone(), markOf(toneOf(c.Verdict))
	if c.Verdict == result.CannotTell || wording.TooFew(*c) != "" {
		out.Tone, out.Mark, out.Time = chart.Unsure, markOf(chart.Unsure), ""
	}
	return out
}

// elsewhere translates what modes add to one exchange into shares of the reader's own round trip, a note for each workload.
// An exchange of this run is a few microseconds long, so that its percentages are not those of any network.
func (b *builder) elsewhere(columns []mainColumn) []doc.Note {
	if b.RTT <= 0 {
		return nil
	}
	trip := "On a round trip of " + wording.Value(b.RTT.Seconds(), "s")
	if b.RTTOf != "" {
		trip += ", the shortest to " + wording.Cut(b.RTTOf, 60)
	}
	var out []doc.Note
	for _, c := range columns {
		if c.each == "" || c.Metric.Unit != "1/s" {
			continue
		}
		var parts []string
		for _, r := range c.rows() {
			if r.Cell == nil || r.Cell.Added == nil || unmeasured(r.Mode) || r.Mode.Control {
				continue
			}
			a, _ := wording.Each(*r.Cell.Added)
			longer := 1 + a.Value/b.RTT.Seconds()
			var ci *result.Interval
			if a.CI != nil {
				ci = &result.Interval{1 + a.CI[0]/b.RTT.Seconds(), 1 + a.CI[1]/b.RTT.Seconds()}
			}
			change, interval := wording.InPercent.Delta(&longer, ci)
			parts = append(parts, strings.TrimSpace(r.Mode.ID+" "+change+" "+interval))
		}
		if len(parts) > 0 {
			out = append(out, doc.Note{About: []string{trip},
				Text: "a " + c.each + " of " + c.name + " takes longer by: " + strings.Join(parts, "; ")})
		}
	}
	return out
}
