package view

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/wording"
)

// Figures draws one figure for each workload and metric and one for the path of each mode:
// file name, such as "tcp_stream-goodput.svg" or "path-netns_vxlan.svg", to a standalone SVG.
// What was not measured has none.
func (r Report) Figures() map[string][]byte {
	out := map[string][]byte{}
	for _, f := range r.view.figures() {
		out[f.File] = f.svg()
	}
	return out
}

// named is a figure with the name of its file.
type named struct {
	File   string
	Table  table
	Figure chart.Figure
	Stack  bool // of a breakdown; of Table only the workload is set
	Ladder int  // of a ladder: the number of its cost, from 1
	// Path is drawn in place of Figure, and Mode is whose path it is.
	Path *chart.Topology
	Mode string
}

func (f named) svg() []byte {
	if f.Path != nil {
		return f.Path.Standalone()
	}
	return f.Figure.Standalone()
}

func (f named) title() string {
	if f.Path != nil {
		return f.Path.Title
	}
	return f.Figure.Title
}

// figures lists the figures of all tables that have something to show, in order
// and with names that are unique.
func (v view) figures() []named {
	used := map[string]bool{}
	var out []named
	add := func(n named, base string) {
		n.File = base + ".svg"
		for i := 2; used[n.File]; i++ {
			n.File = fmt.Sprintf("%s-%d.svg", base, i)
		}
		used[n.File] = true
		out = append(out, n)
	}
	workloads := v.Workloads
	if p := v.Evidence.Pass; p != nil {
		priced := p.workload
		priced.Tables = p.costTables()
		workloads = append(slices.Clone(workloads), priced)
	}
	for _, w := range workloads {
		for _, t := range w.Tables {
			panels := t.panels()
			if len(panels) == 0 {
				continue
			}
			add(named{Table: t, Figure: chart.Figure{
				Title:  w.ID + ": " + t.Metric.Title,
				Desc:   t.description(),
				Legend: t.legend(len(panels) > 1),
				Panels: panels,
			}}, slug(w.ID)+"-"+slug(t.Metric.Name))
		}
	}
	for i, c := range ladderCosts(v.Run) {
		if f, ok := c.figure(); ok {
			add(named{Ladder: i + 1, Figure: f}, slug(c.Workload)+"-why-"+slug(c.Metric))
		}
	}
	for _, b := range breakdownsOf(v) {
		if f, ok := b.finer().figure(); ok {
			add(named{Table: table{Workload: b.Workload}, Figure: f, Stack: true}, slug(b.Workload)+"-breakdown")
		}
	}
	for _, m := range v.Run.Modes {
		if d := topologyOf(m); d != nil {
			add(named{Path: &d.Figure, Mode: m.ID}, "path-"+slug(m.ID))
		}
	}
	return out
}

// slug keeps what is safe in a file name.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "_"
	}
	return path.Clean(s[:min(len(s), 80)])
}

// description says in words what the figure shows.
func (t table) description() string {
	var parts []string
	for _, r := range t.rows() {
		text := r.Mode.ID + ": "
		if v := r.value(t.Scale); v != wording.Unknown {
			text += v + " " + t.Scale.Unit + ", "
		}
		parts = append(parts, wording.Cut(text+r.verdict(), 300))
	}
	return strings.Join(parts, ". ") + "."
}

// legend explains the figure; ratio says that it has a panel of ratios.
func (t table) legend(ratio bool) string {
	text := "A dot is a trial"
	if ratio {
		text += ", or on the left a block: the mode's trial over its baseline's in the same block"
	}
	text += ". The bar is the 95 % interval of the mean below its dots."
	if m := t.margin(); ratio && m > 0 {
		text += " The shaded band is the margin of " + wording.Percent(m) + "."
	}
	if t.ruledOut() {
		text += " A cross is a trial that was ruled out."
	}
	return text
}

// margin is the largest margin of the table's verdicts.
func (t table) margin() float64 {
	m := 0.0
	for _, r := range t.rows() {
		if r.Cell != nil {
			m = max(m, r.Cell.Margin)
		}
	}
	return m
}

func (t table) ruledOut() bool {
	return slices.ContainsFunc(t.rows(), func(r row) bool {
		return slices.ContainsFunc(r.points(t), point.out)
	})
}

// point is a trial with what a dot shows of it. There may be very many, of which few
// are drawn.
type point struct {
	value float64
	trial *result.Trial
}

func (p point) out() bool { return p.trial.Status != result.TrialOK }

// points are all trials of a row with a value.
func (r row) points(t table) []point {
	if unmeasured(r.Mode) {
		return nil
	}
	out := make([]point, 0, len(r.Trials))
	for _, trial := range r.Trials {
		if v, ok := trial.Metrics[t.Metric.Name]; ok && finite(&v) && trial.Status != result.TrialFailed {
			out = append(out, point{v, trial})
		}
	}
	return out
}

// dots are trials of a row, in the table's unit: all with a value, or as many as
// can be told apart.
func (r row) dots(t table) []chart.Dot {
	var out []chart.Dot
	for _, p := range downsample(r.points(t)) {
		d := chart.Dot{X: t.Scale.In(p.value), No: p.trial.Block, Out: p.out()}
		d.Tip = fmt.Sprintf("block %d, trial %d: %s", p.trial.Block, p.trial.Seq, t.Scale.Value(p.value))
		if d.Out {
			d.Tip += ", " + wording.Cut(string(p.trial.Status)+": "+p.trial.Reason, 200)
		}
		out = append(out, d)
	}
	return out
}

// blockRatios are the ratios, block by block, that the estimate is the mean of: all, or
// as many as can be told apart.
func (r row) blockRatios(t table) []chart.Dot {
	if unmeasured(r.Mode) || r.Mode.Baseline == "" {
		return nil
	}
	base := byBlock(r.Base, t.Metric.Name)
	all := make([]point, 0, len(r.Trials))
	for _, trial := range r.Trials {
		v, b := trial.Metrics[t.Metric.Name], base[trial.Block]
		if ratio := v / b; trial.Status == result.TrialOK && v > 0 && b > 0 && finite(&ratio) {
			all = append(all, point{ratio, trial})
		}
	}
	var out []chart.Dot
	for _, p := range downsample(all) {
		out = append(out, chart.Dot{X: p.value, No: p.trial.Block, Tip: fmt.Sprintf("block %d: %s", p.trial.Block, wording.BareRatio(p.value))})
	}
	return out
}

func byBlock(trials []*result.Trial, metric string) map[int]float64 {
	out := make(map[int]float64, len(trials))
	for _, t := range trials {
		if v, ok := t.Metrics[metric]; ok && t.Status == result.TrialOK {
			out[t.Block] = v
		}
	}
	return out
}
