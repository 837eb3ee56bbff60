package doc

import "tare/internal/report/chart"

// TableKind is the content of a table.
type TableKind string

// The kinds of tables.
const (
	Figures   TableKind = "figures"   // a metric by mode, with verdicts
	Study     TableKind = "study"     // what a study asked for, with verdicts
	Sweep     TableKind = "sweep"     // loss by load and mode
	Rates     TableKind = "rates"     // reliability of searches
	Steps     TableKind = "steps"     // of searches: loss by load
	Behind    TableKind = "behind"    // the numbers of a chart
	Trials    TableKind = "trials"    // one by one
	Breakdown TableKind = "breakdown" // components by mode
	Losses    TableKind = "losses"    // places by mode
	Limits    TableKind = "limits"    // who limited TCP, by mode
	Facts     TableKind = "facts"     // names and facts
	Places    TableKind = "places"    // the steps of a path

	ClaimTable TableKind = "claims" // published claims, each with its parts below it
)

// Table is columns and groups of rows.
type Table struct {
	Kind    TableKind
	By      string // the id of the heading that names it, or
	Label   string // its name
	Caption string
	Columns []Column
	Groups  []Group
	// Headed says that a terminal shows the heads of columns.
	Headed bool
	// Most is the part of a terminal's width that the first column may take, as 1/Most, and
	// Least how many columns of text it has there, up to that.
	Most, Least int
}

// Column is one column of a table. Head is its head, which Markdown writes in lower case;
// Plain, if any, is in place of Head and Note where there are no capitals.
type Column struct {
	For         Media
	Head, Plain string
	Kept        bool   // Markdown does not write it in lower case
	Unheaded    bool   // the head of the column before spans it
	Note        string // behind the head, in small letters
	Title       string // what the head means
	Beside      string // "beside" that mode; of foreign origin
	Foreign     bool   // the head is of foreign origin
	Number      bool   // its cells are numbers
	Names       bool   // its cells are of foreign origin
	Row         bool   // its cells head their rows
	Strong      bool   // its cells stand out
	Bars        bool   // its cells are bars
	Verdict     bool
}

// Group is rows below a heading, which may be missing.
type Group struct {
	Head Heading
	Rows []Row
}

// Row has a cell for each column.
type Row struct {
	For    Media
	Group  int  // the number of the mode that it is about
	Out    bool // it has no values, only a verdict that says why, behind the first Lead cells
	Lead   int
	Sum    bool   // of all others
	Kernel string // text of the kernel, in place of all cells
	Cells  []Cell
}

// Cell is one cell. In a column of verdicts Tone is the verdict's, Remarks are what must
// be read with it, and Terminal has it in words for where no ratio is beside it.
type Cell struct {
	Text     string
	Blank    bool // nothing belongs there
	Tight    bool
	Strong   string // before Text
	Small    string // behind Text
	Interval string // behind Text, in brackets
	Lines    []string
	Bar      *float64 // 0..1
	Tone     chart.Tone
	Notes    []string
	Terminal string
	Scenario *Scenario
}

// Scenario is what a page says in the cell of a scenario.
type Scenario struct {
	Title, Description, Mode, Workload, Limits string
	To                                         string // section of its mode
}

// Visible are the columns for a medium by their index.
func (t Table) Visible(m Media) []int {
	var out []int
	for i, c := range t.Columns {
		if c.For.Has(m) {
			out = append(out, i)
		}
	}
	return out
}

// Grid is a table for a terminal alone, which writes as many of its columns beside each
// other as fit, and the others below.
type Grid struct {
	Apart   bool // a blank line is before it
	Corner  string
	Names   []string
	Least   int  // the width of its longest name, shown or not
	Uncut   bool // a name may be longer than a third of the width
	Columns []GridColumn
	// Else replaces it where not all columns fit; nil where they may be split.
	Else []Block
}

// GridColumn is a column of a grid. A head that is not Uncut is shortened where it is wider
// than a third of the terminal and than the cells.
type GridColumn struct {
	Head  string
	Uncut bool
	Cells []string
}
