package history

import (
	"fmt"
	"math"

	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// terminal is what a terminal shows behind the answer: a line for each series, the changes of the
// environment, what is left out.
func (v *historyView) terminal() []doc.Block {
	var out []doc.Block
	shown, more := v.rows()
	for i := range v.Machines {
		m := &v.Machines[i]
		text := "Machine: " + v.machine(i) + "; " + wording.Count(len(m.Runs), "run", "runs")
		if facts := piece.FactsInLine(m.Facts); facts != "" {
			text += "; " + wording.Cut(facts, 160)
		}
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: text})
		for _, k := range keysOf(shown[i]) {
			out = append(out, doc.Section{Head: doc.Heading{Text: k.heading()}, Blocks: []doc.Block{v.grid(k.series)}})
		}
	}
	if more > 0 {
		text := fmt.Sprintf("%d more series", more)
		if v.opt.Command != "" {
			text += "; all: " + wording.Clean(v.opt.Command)
		}
		out = append(out, doc.Paragraph{Role: doc.Lead, Text: text})
	}
	out = append(out, v.listed("Changes of the environment", mostHistoryMarks, v.markLines())...)
	out = append(out, v.listed("Notes on runs", mostHistoryMarks, v.noteLines())...)
	out = append(out, v.listed("Left out", mostHistoryMarks, v.leftOut())...)
	return []doc.Block{doc.Only{For: doc.Terminal, Blocks: out}}
}

// rows chooses the series of each machine that a terminal shows, and counts the others: those that
// changed, then the most important ones.
func (v *historyView) rows() (shown [][]*historySeries, more int) {
	chosen := map[int]bool{}
	of := make([]int, len(v.Machines))
	most := max(mostHistoryRows/max(1, len(v.Machines)), 4)
	for _, changed := range []bool{true, false} {
		for i, s := range v.series {
			if len(s.Changes) > 0 == changed && (v.opt.Full || of[s.machine] < most) {
				chosen[i] = true
				of[s.machine]++
			}
		}
	}
	shown = make([][]*historySeries, len(v.Machines))
	for i := range v.series {
		if s := &v.series[i]; chosen[i] {
			shown[s.machine] = append(shown[s.machine], s)
		}
	}
	return shown, len(v.series) - len(chosen)
}

// historyKey is a metric of a workload, with its series.
type historyKey struct {
	workload string
	metric   result.Metric
	series   []*historySeries
}

func (k historyKey) heading() string {
	text := wording.CutMiddle(k.workload, 40) + ": " + piece.Noun(k.metric) + ", ratio to the baseline"
	if d := piece.Direction(k.metric); d != "" {
		text += ", " + d
	}
	return text
}

// keys are the metrics of all series in their order.
func (v *historyView) keys() []historyKey {
	all := make([]*historySeries, len(v.series))
	for i := range v.series {
		all[i] = &v.series[i]
	}
	return keysOf(all)
}

// keysOf are the metrics of series in their order.
func keysOf(series []*historySeries) []historyKey {
	var out []historyKey
	at := map[[2]string]int{}
	for _, s := range series {
		name := [2]string{s.Workload, s.metric.Name}
		i, known := at[name]
		if !known {
			i = len(out)
			at[name], out = i, append(out, historyKey{workload: s.Workload, metric: s.metric})
		}
		out[i].series = append(out[i].series, s)
	}
	return out
}

// grid is a line for each series.
func (v *historyView) grid(rows []*historySeries) doc.Grid {
	columns := []doc.GridColumn{{Head: "runs"}, {Head: "first"}, {Head: "last"}, {Head: "spread"}, {Head: "last change"}, {Head: "over time"}}
	g := doc.Grid{Corner: "mode"}
	for _, s := range rows {
		g.Names = append(g.Names, s.Mode)
		change := "none"
		if n := len(s.Changes); n > 0 {
			f := historyFound{s, s.Changes[n-1], &s.of.Runs[s.Points[s.Changes[n-1].Point].Run]}
			change = piece.MarkOf(f.tone()) + " " + v.date(f.run.Started)
		}
		for i, text := range []string{fmt.Sprint(len(s.Points)), s.first(), s.last(), s.spread(), change, s.sparkline()} {
			columns[i].Cells = append(columns[i].Cells, text)
		}
	}
	g.Columns = columns
	return g
}

func (s *historySeries) first() string { return wording.BareRatio(s.Points[0].Ratio) }

func (s *historySeries) last() string { return wording.BareRatio(s.Points[len(s.Points)-1].Ratio) }

// spread is the variation from run to run.
func (s *historySeries) spread() string {
	if !piece.Finite(s.Spread) {
		return wording.Unknown
	}
	return wording.Percent(*s.Spread)
}

// sparkColumns is how many columns a line over time takes at most.
const sparkColumns = 24

// sparkline is the ratios over the runs of the machine, the highest as the tallest bar; where there
// are more runs than columns, each column is the geometric mean of its runs, and a column without
// a value is blank. A range of less than 10 % is drawn as 10 %, so that noise looks small.
func (s *historySeries) sparkline() string {
	n := min(sparkColumns, len(s.of.Runs))
	sums, counts := make([]float64, n), make([]int, n)
	for _, p := range s.Points {
		at := p.Run * n / len(s.of.Runs)
		sums[at] += math.Log(p.Ratio)
		counts[at]++
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, c := range counts {
		if c > 0 {
			sums[i] /= float64(c)
			lo, hi = min(lo, sums[i]), max(hi, sums[i])
		}
	}
	const least = 0.1
	if room := least - (hi - lo); room > 0 {
		lo, hi = lo-room/2, hi+room/2
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	out := make([]rune, n)
	for i, c := range counts {
		out[i] = ' '
		if c > 0 {
			out[i] = bars[min(int((sums[i]-lo)/(hi-lo)*float64(len(bars))), len(bars)-1)]
		}
	}
	return string(out)
}

// listed is a heading with lines of which a terminal shows the last so many.
func (v *historyView) listed(heading string, most int, lines []string) []doc.Block {
	if len(lines) == 0 {
		return nil
	}
	l := doc.List{}
	if !v.opt.Full && len(lines) > most+1 {
		l.Items = append(l.Items, doc.Item{Text: fmt.Sprintf("%d before these", len(lines)-most)})
		lines = lines[len(lines)-most:]
	}
	for _, text := range lines {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	return []doc.Block{doc.Section{Head: doc.Heading{Text: heading}, Blocks: []doc.Block{l}}}
}

// markLines are the changes of the environment by time.
func (v *historyView) markLines() []string {
	var out []string
	for _, m := range v.marks {
		out = append(out, v.where(m.machine, m.run)+m.text)
	}
	return out
}

// where begins a line about a run.
func (v *historyView) where(machine, run int) string {
	r := &v.Machines[machine].Runs[run]
	text := v.date(r.Started) + " run " + runName(r)
	if len(v.Machines) > 1 {
		text += " on " + v.machine(machine)
	}
	return text + ": "
}

// noteLines are the runs that must be read with care.
func (v *historyView) noteLines() []string {
	var out []string
	for i, m := range v.Machines {
		for j, r := range m.Runs {
			if r.Note != "" {
				out = append(out, v.where(i, j)+r.Note)
			}
		}
	}
	return out
}

func (v *historyView) leftOut() []string {
	var out []string
	for _, l := range v.LeftOut {
		out = append(out, wording.CutMiddle(piece.OrText(l.Path, l.ID), 60)+": "+piece.OrText(wording.Cut(l.Reason, 300), "no reason is recorded"))
	}
	return out
}
