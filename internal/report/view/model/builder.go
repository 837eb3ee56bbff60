package model

import (
	"fmt"
	"path"
	"time"

	"tare/internal/report/chart"
	"tare/internal/report/doc"
	"tare/internal/report/view/piece"
)

// began returns when the first trial started, or the start of the run.
func began(v View) time.Time {
	var first time.Time
	for _, t := range v.Trials {
		if !t.Started.IsZero() && (first.IsZero() || t.Started.Before(first)) {
			first = t.Started
		}
	}
	return first
}

// Builder makes the document of a report. It alone decides what is shown, in which order and
// for which media.
type Builder struct {
	View
	Numbers      map[string]int    // of modes, from 1, which link the parts of a page
	anchors      map[string]string // the section of a metric of a workload
	Begin        time.Time
	Images       func() []Named
	shownReasons map[string]bool // modes whose reason the terminal has shown
}

func NewBuilder(v View) *Builder {
	b := &Builder{View: v, Numbers: map[string]int{}, anchors: map[string]string{}, Begin: began(v), shownReasons: map[string]bool{}}
	for i, m := range v.Modes {
		b.Numbers[m.ID] = i + 1
	}
	for i, w := range v.Workloads {
		for j, t := range w.Tables {
			b.anchor(t, fmt.Sprintf("w%d-%d", i+1, j+1))
		}
	}
	for i, bill := range v.Evidence.CPUCosts {
		for j, t := range bill.Tables {
			b.anchor(t, CpuCostAnchor(i+1, j))
		}
	}
	if pass := v.Evidence.Pass; pass != nil {
		for j, t := range pass.CostTables() {
			b.anchor(t, CpuCostAnchor(0, j))
		}
	}
	return b
}

// CpuCostAnchor is the anchor of the j-th table of the i-th CPU cost; i is 0 for the
// fixed-rate pass.
func CpuCostAnchor(i, j int) string { return fmt.Sprintf("c%d-%d", i, j+1) }

func (b *Builder) anchor(t Table, at string) { b.anchors[t.Workload+" "+t.Metric.Name] = at }

func (b *Builder) AnchorOf(t Table) string { return b.anchors[t.Workload+" "+t.Metric.Name] }

// Drawn are the figures that match, as files beside the page.
func (b *Builder) Drawn(is func(Named) bool) doc.Block {
	return piece.ForMarkdown(doc.Later(func() []doc.Block {
		var out []doc.Block
		for _, f := range b.Images() {
			if is(f) {
				out = append(out, doc.Image{Title: f.title(), File: path.Join(b.FiguresDir, f.File)})
			}
		}
		return out
	}))
}

// Named is a figure with the name of its file.
type Named struct {
	File   string
	Table  Table
	Figure chart.Figure
	Stack  bool // of a breakdown; of Table only the workload is set
	Ladder int  // of a ladder: the number of its cost, from 1
	// Path is drawn in place of Figure, and Mode is whose path it is.
	Path *chart.Topology
	Mode string
}

func (f Named) Svg() []byte {
	if f.Path != nil {
		return f.Path.Standalone()
	}
	return f.Figure.Standalone()
}

func (f Named) title() string {
	if f.Path != nil {
		return f.Path.Title
	}
	return f.Figure.Title
}

// TerminalVerdict is the verdict of a row for a terminal, which shows the reason of a mode
// without values once.
func (b *Builder) TerminalVerdict(r Row, verdict string) string {
	if !Unmeasured(r.Mode) {
		return verdict
	}
	if b.shownReasons[r.Mode.ID+verdict] {
		verdict = string(r.Mode.Status) + ", see above"
	}
	b.shownReasons[r.Mode.ID+Fate(r.Mode)] = true
	return verdict
}
