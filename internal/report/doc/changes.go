package doc

import (
	"slices"

	"tare/internal/report/chart"
)

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

// Times says whether a row has a time.
func (t ChangeTable) Times() bool {
	return slices.ContainsFunc(t.Rows, func(r ChangeRow) bool { return r.Time != "" })
}

// ChangeRow is one mode. Time is how much longer it takes than before, with the interval; it may be empty.
type ChangeRow struct {
	Mode, Before, After, Verdict, Time string
	Tone                               chart.Tone
}
