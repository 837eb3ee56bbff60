package doc

import "tare/internal/report/chart"

// Changes is what changed from one run to another.
type Changes struct {
	Before, After string // the two runs
	Notes         []Notes
	Tables        []ChangeTable
	Legend        string
}

// Notes are lines below a heading.
type Notes struct {
	Heading string
	Lines   []string
}

// ChangeTable is the changes in one metric of one workload. Detail marks one that is left out
// of short output.
type ChangeTable struct {
	Heading string
	Rows    []ChangeRow
	Detail  bool
}

// ChangeRow is one mode.
type ChangeRow struct {
	Mode, Before, After, Verdict string
	Tone                         chart.Tone
}
