package section

import (
	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/wording"
)

// Agreements say whether a second tool measured the same cost.
func Agreements(b *model.Builder) []doc.Block {
	l := doc.List{}
	for _, text := range agreements(b.View) {
		l.Items = append(l.Items, doc.Item{Text: text})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "tools-two", Head: doc.Heading{Text: "Two tools"}, Blocks: []doc.Block{l}}}
}

// agreements compares two generators' results for the same cost, one line each.
func agreements(v model.View) []string {
	var out []string
	for _, a := range v.Run.Agreements {
		out = append(out, agreement(a))
	}
	return out
}

func agreement(a result.Agreement) string {
	text := a.Workload + ", " + a.Mode + ", " + a.Metric + ": "
	switch a.Agree {
	case result.AgreeYes:
		text += "both tools measure the same cost"
	case result.AgreeNo:
		text += "the two tools disagree about the cost"
	default:
		text += "cannot tell whether the two tools agree"
	}
	if a.Ratio == nil {
		return text
	}
	return text + "; the workload's own ratio is " + wording.Ratio(a.Ratio, a.RatioCI) + " times that by " + a.Tool
}
