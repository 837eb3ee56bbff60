package report

import (
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

// matrix is every mode by every main metric, with its verdict: what a reader looks at
// first.
type matrix struct {
	Works   []matrixWork
	Columns []matrixColumn
	Groups  []matrixGroup
}

// matrixWork heads the columns of a workload.
type matrixWork struct {
	ID string
	N  int
}

// matrixColumn is a metric of a workload.
type matrixColumn struct {
	Title, Unit, Anchor string
	table               table
}

type matrixGroup struct {
	Heading string
	Rows    []matrixRow
}

// matrixRow is a mode. Out says why there is nothing of it.
type matrixRow struct {
	Mode  string
	Group int
	Out   string
	Cells []matrixCell
}

// matrixCell is a figure or a ratio, its interval and the verdict.
type matrixCell struct {
	Tone             chart.Tone
	Value, CI, Words string
}

// newMatrix is the matrix of a run. A sweep has its own table; a metric of which there
// is no figure has no column. Anchor finds where a metric is told of.
func newMatrix(v view, anchor func(table) string) *matrix {
	m := &matrix{}
	add := func(id string, tables []table) {
		n := 0
		for _, t := range tables {
			if t.Metric.Detail || strings.HasSuffix(t.Metric.Name, "_p999") || !t.worthAColumn() {
				continue // the far tail has a chart of its own
			}
			n++
			m.Columns = append(m.Columns, matrixColumn{t.Metric.Title, t.unit(), anchor(t), t})
		}
		if n > 0 {
			m.Works = append(m.Works, matrixWork{id, n})
		}
	}
	for _, w := range v.Workloads {
		if !v.swept(w.ID) {
			add(w.ID, w.Tables)
		}
	}
	if p := v.Evidence.Pass; p != nil {
		add("at a fixed rate", p.billed())
	}
	if len(m.Columns) == 0 {
		return nil
	}
	for _, g := range m.Columns[0].table.Groups {
		group := matrixGroup{Heading: g.Heading}
		for _, r := range g.Rows {
			group.Rows = append(group.Rows, m.row(r))
		}
		m.Groups = append(m.Groups, group)
	}
	return m
}

// worthAColumn says that a table tells anything but that nothing happened.
func (t table) worthAColumn() bool {
	for _, r := range t.rows() {
		if r.Cell != nil && r.Cell.Value != nil && (*r.Cell.Value != 0 || r.Cell.Ratio != nil) {
			return true
		}
		if r.Cell == nil && !unmeasured(r.Mode) && len(r.Trials) > 0 {
			return true
		}
	}
	return false
}

func (m *matrix) row(r row) matrixRow {
	out := matrixRow{Mode: r.Mode.ID, Group: r.No}
	if unmeasured(r.Mode) {
		out.Out = say.Cut(fate(r.Mode), longReason)
		return out
	}
	for _, c := range m.Columns {
		own, ok := c.table.of(r.Mode.ID)
		if !ok {
			out.Cells = append(out.Cells, matrixCell{Tone: chart.Plain, Value: say.Unknown})
			continue
		}
		out.Cells = append(out.Cells, own.inMatrix(c.table.Scale))
	}
	return out
}

// inMatrix is a row of a table as one cell.
func (r row) inMatrix(s say.Scale) matrixCell {
	c := matrixCell{Tone: r.tone(), Value: say.Unknown}
	if r.Cell == nil {
		c.Words = say.Cut(r.unjudged(), 60)
		if len(r.Trials) > 0 {
			c.Tone = chart.Absent
		}
		return c
	}
	text := r.value(s)
	if r.Cell.Ratio != nil {
		text = r.ratio()
	}
	c.Value, c.CI, _ = strings.Cut(text, " (")
	c.CI = strings.TrimSuffix(c.CI, ")")
	switch {
	case r.Baseline && r.Cell.Verdict == "":
		c.Words = "baseline"
	case r.Mode.Control:
		c.Words = "A/A control"
	case r.Cell.Verdict == result.Same && r.Cell.Margin > 0:
		c.Words = "same within " + say.Percent(r.Cell.Margin)
	case r.Cell.Verdict == result.Small && r.Cell.Margin > 0:
		c.Words = "less than " + say.Percent(r.Cell.Margin)
	case r.Cell.Verdict == result.CannotTell && r.Cell.BlocksNeeded != nil && *r.Cell.BlocksNeeded > 0 && !r.Noisy && !r.Cell.AtLeast:
		c.Words = "cannot tell: about " + say.Count(*r.Cell.BlocksNeeded, "more block", "more blocks")
	case r.Cell.Ratio == nil && r.Cell.Verdict == result.CannotTell:
		c.Words = "cannot tell"
	default:
		c.Words = say.Word(r.Cell.Verdict)
	}
	return c
}

// Span is how many columns there are.
func (m matrix) Span() int { return len(m.Columns) }

// All is Span with the mode's name.
func (m matrix) All() int { return len(m.Columns) + 1 }
