package model

import (
	"fmt"
	"time"
)

// Builder is what the sections of one document are made from: the run, and what links them.
type Builder struct {
	View
	Numbers      map[string]int    // of modes, from 1, which link the parts of a page
	anchors      map[string]string // the section of a metric of a workload
	Begin        time.Time         // of the first trial
	shownReasons map[string]bool   // modes whose reason the terminal has shown
}

// NewBuilder begins a document.
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
			b.anchor(t, CPUCostAnchor(i+1, j))
		}
	}
	if pass := v.Evidence.Pass; pass != nil {
		for j, t := range pass.CostTables() {
			b.anchor(t, CPUCostAnchor(0, j))
		}
	}
	return b
}

// CPUCostAnchor is the anchor of the j-th table of the i-th CPU cost; i is 0 for the
// fixed-rate pass.
func CPUCostAnchor(i, j int) string { return fmt.Sprintf("c%d-%d", i, j+1) }

func (b *Builder) anchor(t Table, at string) { b.anchors[t.Workload+" "+t.Metric.Name] = at }

// AnchorOf is the section of a table on a page.
func (b *Builder) AnchorOf(t Table) string { return b.anchors[t.Workload+" "+t.Metric.Name] }

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

// began is when the first trial started, 0 where that is unknown.
func began(v View) time.Time {
	var first time.Time
	for _, t := range v.Trials {
		if !t.Started.IsZero() && (first.IsZero() || t.Started.Before(first)) {
			first = t.Started
		}
	}
	return first
}
