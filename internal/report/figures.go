package report

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// Figures draws one figure for each workload and metric and one for the path of each
// mode: file name, such as "tcp_stream-goodput.svg" or "path-netns_vxlan.svg", to a
// standalone SVG. What nobody measured has none.
func Figures(in Input) (map[string][]byte, error) {
	return Prepare(in).Figures()
}

// Figures draws them as [Figures] does.
func (r Prepared) Figures() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, f := range r.view.figures() {
		out[f.File] = f.svg()
	}
	return out, nil
}

// named is a figure with the name of its file.
type named struct {
	File   string
	Table  table
	Figure chart.Figure
	Stack  bool // of a breakdown; of Table only the workload is set
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
		priced.Tables = p.billed()
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
	for _, b := range v.Evidence.Breakdowns {
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
		if v := r.value(t.Scale); v != say.Unknown {
			text += v + " " + t.Scale.Unit + ", "
		}
		parts = append(parts, say.Cut(text+r.verdict(), 300))
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
		text += " The shaded band is the margin of " + say.Percent(m) + "."
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
	for _, r := range t.rows() {
		for _, d := range r.dots(t) {
			if d.Out {
				return true
			}
		}
	}
	return false
}

// dots are all trials of a row that gave a figure, in the table's unit.
func (r row) dots(t table) []chart.Dot {
	var out []chart.Dot
	if unmeasured(r.Mode) {
		return nil
	}
	for _, trial := range r.Trials {
		v, ok := trial.Metrics[t.Metric.Name]
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) || trial.Status == result.TrialFailed {
			continue
		}
		d := chart.Dot{X: t.Scale.In(v), No: trial.Block, Out: trial.Status != result.TrialOK}
		d.Tip = fmt.Sprintf("block %d, trial %d: %s", trial.Block, trial.Seq, t.Scale.Value(v))
		if d.Out {
			d.Tip += ", " + say.Cut(string(trial.Status)+": "+trial.Reason, 200)
		}
		out = append(out, d)
	}
	return out
}

// blockRatios are the ratios, block by block, that the estimate is the mean of.
func (r row) blockRatios(t table) []chart.Dot {
	if unmeasured(r.Mode) || r.Mode.Baseline == "" {
		return nil
	}
	base := byBlock(r.Base, t.Metric.Name)
	var out []chart.Dot
	for _, trial := range r.Trials {
		v, b := trial.Metrics[t.Metric.Name], base[trial.Block]
		ratio := v / b
		if trial.Status != result.TrialOK || v <= 0 || b <= 0 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
			continue
		}
		out = append(out, chart.Dot{X: ratio, No: trial.Block, Tip: fmt.Sprintf("block %d: %s", trial.Block, say.BareRatio(ratio))})
	}
	return out
}

func byBlock(trials []result.Trial, metric string) map[int]float64 {
	out := map[int]float64{}
	for _, t := range trials {
		if v, ok := t.Metrics[metric]; ok && t.Status == result.TrialOK {
			out[t.Block] = v
		}
	}
	return out
}
