package answer

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
)

// Matrix is every mode by the main metrics that the answer does not show, in the same form. A sweep has its own table; a
// metric without a value has no column.
func Matrix(b *model.Builder) []doc.Block {
	var answered, columns []mainColumn
	if b.Run.CostByParts == nil {
		answered = mainColumns(b)
	}
	add := func(name string, tables []model.Table) {
		for _, t := range tables {
			if t.Metric.Detail || strings.HasSuffix(t.Metric.Name, "_p999") || !t.WorthAColumn() {
				continue // the far tail has a chart of its own
			}
			if !slices.ContainsFunc(answered, func(c mainColumn) bool { return c.name == name && c.Metric.Name == t.Metric.Name }) {
				columns = append(columns, mainColumn{Table: t, name: name, load: t.Metric.Name == "loss_ratio"}.withForms(b.Units))
			}
		}
	}
	for _, w := range b.Workloads {
		if !b.Swept(w.ID) {
			add(w.ID, w.Tables)
		}
	}
	if p := b.Evidence.Pass; p != nil {
		add(atFixedRate, p.CostTables())
	}
	if len(columns) == 0 {
		return nil
	}
	o := changesOf(b, columns)
	o.By, o.Legend = "matrix", nil // the answer has it
	return []doc.Block{doc.Section{ID: o.By, Head: doc.Heading{Text: "All modes, further metrics"}, Nav: "All modes", Blocks: []doc.Block{o}}}
}
