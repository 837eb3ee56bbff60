package view

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/view/cpu"
	"tare/internal/report/view/model"
	"tare/internal/report/view/paths"
	"tare/internal/report/view/sheet"
	"tare/internal/report/view/why"
)

// Figures draws one figure for each workload and metric and one for the path of each mode:
// file name, such as "tcp_stream-goodput.svg" or "path-netns_vxlan.svg", to a standalone SVG.
// What was not measured has none.
func (r Report) Figures() map[string][]byte {
	out := map[string][]byte{}
	for _, f := range figures(r.view) {
		out[f.File] = f.Svg()
	}
	return out
}

// figures lists the figures of all tables that have something to show, in order
// and with names that are unique.
func figures(v model.View) []model.Named {
	used := map[string]bool{}
	var out []model.Named
	add := func(n model.Named, base string) {
		n.File = base + ".svg"
		for i := 2; used[n.File]; i++ {
			n.File = fmt.Sprintf("%s-%d.svg", base, i)
		}
		used[n.File] = true
		out = append(out, n)
	}
	workloads := v.Workloads
	if p := v.Evidence.Pass; p != nil {
		priced := p.Workload
		priced.Tables = p.CostTables()
		workloads = append(slices.Clone(workloads), priced)
	}
	for _, w := range workloads {
		for _, t := range w.Tables {
			panels := sheet.Panels(t)
			if len(panels) == 0 {
				continue
			}
			add(model.Named{Table: t, Figure: chart.Figure{
				Title:  w.ID + ": " + t.Metric.Title,
				Desc:   sheet.Description(t),
				Legend: sheet.Legend(t, len(panels) > 1),
				Panels: panels,
			}}, slug(w.ID)+"-"+slug(t.Metric.Name))
		}
	}
	for i, c := range why.Costs(v.Run) {
		if f, ok := c.Figure(); ok {
			add(model.Named{Ladder: i + 1, Figure: f}, slug(c.Workload)+"-why-"+slug(c.Metric))
		}
	}
	for _, b := range cpu.Breakdowns(v) {
		if f, ok := b.Finer().Figure(); ok {
			add(model.Named{Table: model.Table{Workload: b.Workload}, Figure: f, Stack: true}, slug(b.Workload)+"-breakdown")
		}
	}
	for _, m := range v.Run.Modes {
		if d := paths.Drawing(m); d != nil {
			add(model.Named{Path: &d.Figure, Mode: m.ID}, "path-"+slug(m.ID))
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
