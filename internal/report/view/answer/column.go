package answer

import (
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// mainColumn is a metric of a workload that the first screen shows.
type mainColumn struct {
	model.Table
	model.ChangeForm
	name string // of the workload
	rank int
	load bool // its loss ratio is shown as it is, not as a change
}

// withForms decides how the cells of the column are written.
func (c mainColumn) withForms(units model.Units) mainColumn {
	var ratios []*float64
	var times []*result.Added
	for _, r := range c.Rows() {
		if r.Cell != nil && !r.Baseline && r.Cell.Ratio != nil {
			ratios, times = append(ratios, r.Cell.Ratio), append(times, r.Cell.Added)
		}
	}
	c.ChangeForm = model.ChangeFormOf(units, ratios, times)
	return c
}

// delta is the change of a cell with its interval and, beside it, its time.
func (c mainColumn) delta(cell *result.Cell) doc.OverviewCell {
	return c.Cell(cell.Ratio, cell.RatioCI, cell.Added)
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
func mainColumns(b *model.Builder) []mainColumn {
	var out []mainColumn
	add := func(w string, t model.Table, class int) {
		if t.WorthAColumn() {
			out = append(out, mainColumn{Table: t, name: w, rank: class, load: t.Metric.Name == "loss_ratio"}.withForms(b.Units))
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
			case b.Swept(w.ID):
				if metric, _ := b.Curve(w.ID); t.Metric.Name == metric {
					add(w.ID, t, sweep)
				}
			case t.Metric.Primary || i == 0 && result.Searched(t.Metric.Name): // a search without the goal 0
				add(w.ID, t, primary)
			case t.Metric.Name == "loss_ratio":
				if anyAboveZero(t) {
					add(w.ID, t, loss)
				}
			case !t.Metric.Detail && strings.HasSuffix(t.Metric.Name, "_p99") && t.Metric.Name != "delay_variation_p99":
				add(w.ID, t, tail)
			case strings.HasPrefix(t.Metric.Name, "cpu_cost") && t.Judged():
				costs = append(costs, mainColumn{Table: t, name: w.ID, rank: cpu}.withForms(b.Units))
			}
		}
	}
	if p := b.Evidence.Pass; p != nil {
		for _, t := range p.Tables {
			if t.Metric.Name == result.CPUCost && t.Judged() {
				costs = []mainColumn{mainColumn{Table: t, name: atFixedRate, rank: cpu}.withForms(b.Units)}
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
	piece.Rank(out, func(c *mainColumn) *int { return &c.rank })
	return out
}

// atFixedRate names the pass at a fixed rate in the place of a workload.
const atFixedRate = "at a fixed rate"

func anyAboveZero(t model.Table) bool {
	return slices.ContainsFunc(t.Rows(), func(r model.Row) bool { return r.Cell != nil && r.Cell.Value != nil && *r.Cell.Value > 0 })
}

// overviewCell is a row of a table as one cell of the first screen.
func overviewCell(r model.Row, t mainColumn) doc.OverviewCell {
	c := r.Cell
	plain := func(text string) doc.OverviewCell { return doc.OverviewCell{Tone: chart.Plain, Change: text} }
	unsure := func(text string) doc.OverviewCell {
		return doc.OverviewCell{Tone: chart.Unsure, Mark: piece.MarkOf(chart.Unsure), Change: text}
	}
	switch {
	case c == nil && len(r.Trials) == 0:
		return plain(wording.Unknown)
	case c == nil && slices.ContainsFunc(r.Trials, func(t *result.Trial) bool { return t.Status == result.TrialOK }):
		return plain("not judged")
	case c == nil || c.Value == nil && c.Ratio == nil:
		return doc.OverviewCell{Tone: chart.Absent, Change: "no valid trial"}
	case (r.Baseline || c.Baseline == "") && c.Value != nil:
		cell := plain(wording.AtLeast(*c, piece.Each1000.Replace(t.Scale.Value(*c.Value))))
		if t.Time != nil && t.Metric.Unit == "1/s" && *c.Value > 0 {
			cell.Time = wording.ScaleFor("s", 1 / *c.Value).Value(1 / *c.Value)
		}
		return cell
	case c.Verdict == result.Same && c.Ratio == nil, t.load && model.Zero(c) && r.BaseZero:
		return plain("none in either")
	case t.load && c.Value != nil:
		cell := plain(t.Scale.Value(*c.Value))
		if tone := r.Tone(); tone == chart.Worse || tone == chart.Better {
			cell.Tone, cell.Mark = tone, piece.MarkOf(tone)
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
	out.Tone, out.Mark = r.Tone(), piece.MarkOf(piece.ToneOf(c.Verdict))
	if c.Verdict == result.CannotTell || wording.TooFew(*c) != "" {
		out.Tone, out.Mark, out.Time = chart.Unsure, piece.MarkOf(chart.Unsure), ""
	}
	return out
}
