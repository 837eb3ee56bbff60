package view

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
)

// matrix is every mode by the main metrics that the answer does not show, in the same form. A sweep has its own table; a
// metric without a value has no column.
func (b *builder) matrix() []doc.Block {
	var answered, columns []mainColumn
	if b.Run.Ladder == nil {
		answered = b.mainColumns()
	}
	add := func(name string, tables []table) {
		for _, t := range tables {
			if t.Metric.Detail || strings.HasSuffix(t.Metric.Name, "_p999") || !t.worthAColumn() {
				continue // the far tail has a chart of its own
			}
			if !slices.ContainsFunc(answered, func(c mainColumn) bool { return c.name == name && c.Metric.Name == t.Metric.Name }) {
				columns = append(columns, mainColumn{table: t, name: name, load: t.Metric.Name == "loss_ratio"}.withForms(b.Units))
			}
		}
	}
	for _, w := range b.Workloads {
		if !b.swept(w.ID) {
			add(w.ID, w.Tables)
		}
	}
	if p := b.Evidence.Pass; p != nil {
		add(atFixedRate, p.costTables())
	}
	if len(columns) == 0 {
		return nil
	}
	o := b.changesOf(columns)
	o.By, o.Legend = "matrix", nil // the answer has it
	return []doc.Block{doc.Section{ID: o.By, Head: doc.Heading{Text: "All modes, further metrics"}, Nav: "All modes", Blocks: []doc.Block{o}}}
}

// worthAColumn reports whether a table has any value other than 0, or trials without a value.
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
