// Package workloads shows each workload: its metrics over all modes, its searches, charts and trials.
package workloads

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/report/view/sheet"
	"tare/internal/result"
)

// Section are the values of all workloads; without any, a terminal shows the status of the
// modes.
func Section(b *model.Builder) []doc.Block {
	var out []doc.Block
	for i, w := range b.Workloads {
		out = append(out, workload(b, w, fmt.Sprintf("w%d", i+1)))
	}
	if len(out) == 0 && len(b.Modes) > 0 {
		out = append(out, piece.ForTerminal(doc.List{Apart: true, Items: withoutWorkloads(b)}))
	}
	return out
}

func workload(b *model.Builder, w model.Workload, id string) doc.Block {
	s := doc.Section{ID: id, Look: doc.Work, Nav: w.ID, Fold: b.Swept(w.ID), Head: doc.Heading{Name: w.ID, Untold: w.Empty == ""}}
	add := func(blocks ...doc.Block) { s.Blocks = append(s.Blocks, blocks...) }
	if w.Empty != "" {
		add(doc.Paragraph{Text: w.Empty, Depth: 1})
	}
	if text := requests(b.Run, w.ID); text != "" {
		add(doc.Paragraph{Role: doc.Meta, Text: text, Depth: 1})
	}
	var details, rest []doc.Block
	var nouns []string
	var others []model.Table
	for i, t := range w.Tables {
		told := i == 0 || t.Metric.Primary
		if !told && !model.IsCPUMetric(t.Metric) && t.Judged() && !t.Spared() {
			others = append(others, t)
		}
		if b.InCPUCosts(t) {
			if told {
				add(piece.ForTerminal(sheet.Metric(b, t, "", told)))
			}
			continue
		}
		section := sheet.Metric(b, t, b.AnchorOf(t), told)
		if told && !t.Metric.Detail {
			add(section)
			continue
		}
		details, nouns = append(details, section), append(nouns, piece.ShortTitle(t.Metric))
		if told {
			add(piece.ForTerminal(section))
		}
	}
	add(piece.ForTerminal(besides(others)...))
	add(searches(b, w, id)...)
	if len(details) > 0 {
		rest = append(rest, doc.Details{Summary: "Further metrics: " + strings.Join(nouns, ", "), Blocks: details})
	}
	rest = append(rest, doc.Later(func() []doc.Block {
		if charts := charts(b, w, id); len(charts) > 0 {
			return []doc.Block{doc.Details{Summary: "Charts of ", Name: w.ID, Blocks: []doc.Block{doc.Beside{Blocks: charts}}}}
		}
		return nil
	}), doc.Later(func() []doc.Block { return sheet.Log(b, w) }))
	add(piece.ForHTML(rest...))
	return s
}

// requests says what a workload of HTTP or gRPC sends, empty for another.
func requests(run result.Run, workload string) string {
	i := slices.IndexFunc(run.Requests, func(r result.Requests) bool { return r.Workload == workload })
	if i < 0 {
		return ""
	}
	var all []string
	for _, s := range run.Requests[i].Settings {
		all = append(all, s.Name+" "+s.Value)
	}
	return "Requests of " + workload + ": " + strings.Join(all, ", ") + "."
}
