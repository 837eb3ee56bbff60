package doc

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/chart"
)

// Overview is the first screen of a report: one table of changes, one sentence and the
// notes that matter most for it. Writers choose how many of its columns, rows and notes
// fit, and say how many do not.
type Overview struct {
	By        string // the id of the heading that names its table
	Title     string // what was measured
	Measured  string // how much of it
	Notes     []Note // what biases the comparison, the most important first
	Absent    []Note // why modes have no values
	NotesLast bool   // both are below the sentence
	Head      string // of the column of modes
	Columns   []OverviewColumn
	Groups    []OverviewGroup // each is compared with its first row
	Legend    []string        // what the cells and marks mean
	Sentence  string          // the answer for the run as a whole
	// Explanations are why, for each workload: the cause, and what removes it or would tell more.
	Explanations []Note
	Claims       string   // how many published claims hold, and what lists them; empty without claims
	Others       []string // what else the full report has, such as "5 comparisons"
	Page         string   // the file of the whole report; empty without one
	Command      string   // what prints the whole report; empty without one
}

// Note is a warning, or the reason why modes have no values. About lists the modes; it is
// of foreign origin and may be empty.
type Note struct {
	About []string
	Text  string
}

// String returns the note as one line.
func (n Note) String() string {
	if len(n.About) == 0 {
		return n.Text
	}
	return n.Names() + ": " + n.Text
}

// mostNamed is how many modes a note lists by name.
const mostNamed = 4

// Names lists the modes that the note is about, and counts those beyond the first few.
func (n Note) Names() string {
	names := n.About
	if len(names) > mostNamed+1 {
		names = append(slices.Clone(names[:mostNamed]), strconv.Itoa(len(names)-mostNamed)+" more")
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// OverviewColumn is a metric of a workload. Rank says how important it is, 0 first: where
// not all columns fit, those with the highest rank are left out. To is the anchor of its
// section on a page. Legend explains its cells, where those of the overview do not.
type OverviewColumn struct {
	Workload, Metric string
	Rank             int
	To, Legend       string
}

// Legends are what explains the cells of these columns and the marks, each once.
func (o Overview) Legends(columns ...OverviewColumn) []string {
	out := slices.Clone(o.Legend)
	for _, c := range columns {
		if c.Legend != "" && !slices.Contains(out, c.Legend) {
			out = append(out, c.Legend)
		}
	}
	return out
}

// OverviewGroup is a baseline with the modes that are compared with it, or the modes that
// are compared with nothing.
type OverviewGroup struct {
	Name string // empty where there is only one group
	Rows []OverviewRow
}

// OverviewRow is one mode. Out says in one word why it has no values, with the reason in
// Absent; it then has no cells.
type OverviewRow struct {
	Mode  string // of foreign origin
	Group int    // the number of the mode
	Out   string
	Cells []OverviewCell
}

// OverviewCell is a change with its interval, or a value with its unit in Change. Time is the same change or value as a
// time; it may be empty. Mark and Tone are its verdict's.
type OverviewCell struct {
	Tone             chart.Tone
	Mark             string
	Change, Interval string
	Time             string
}

func (Overview) block() {}
