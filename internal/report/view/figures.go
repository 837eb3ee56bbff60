package view

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tare/internal/report/view/cpu"
	"tare/internal/report/view/paths"
	"tare/internal/report/view/sheet"
	"tare/internal/report/view/why"
)

// Figures draws one figure for each workload and metric and one for the path of each mode:
// file name, such as "tcp_stream-goodput.svg" or "path-netns_vxlan.svg", to a standalone SVG.
// What was not measured has none.
func (r Report) Figures() map[string][]byte {
	v, out := r.view, map[string][]byte{}
	add := func(base string, svg []byte) {
		name := base + ".svg"
		for i := 2; out[name] != nil; i++ {
			name = fmt.Sprintf("%s-%d.svg", base, i)
		}
		out[name] = svg
	}
	workloads := v.Workloads
	if p := v.Evidence.Pass; p != nil {
		priced := p.Workload
		priced.Tables = p.CostTables()
		workloads = append(slices.Clone(workloads), priced)
	}
	for _, w := range workloads {
		for _, t := range w.Tables {
			if f, ok := sheet.Figure(t); ok {
				add(slug(w.ID)+"-"+slug(t.Metric.Name), f.Standalone())
			}
		}
	}
	for _, c := range why.Costs(v.Run) {
		if f, ok := c.Figure(); ok {
			add(slug(c.Workload)+"-why-"+slug(c.Metric), f.Standalone())
		}
	}
	for _, b := range cpu.Breakdowns(v) {
		if f, ok := b.Finer().Figure(); ok {
			add(slug(b.Workload)+"-breakdown", f.Standalone())
		}
	}
	for _, m := range v.Run.Modes {
		if svg := paths.Figure(m); svg != nil {
			add("path-"+slug(m.ID), svg)
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
