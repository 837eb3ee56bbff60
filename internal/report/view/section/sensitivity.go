package section

import (
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/wording"
)

// Sensitivity is the ratio of each mode with each setting of the generator, as the sensitivity pass measured it.
func Sensitivity(b *model.Builder) []doc.Block {
	l := doc.List{Tight: true}
	for _, s := range b.Run.Sensitivity {
		var points []string
		for _, p := range s.Settings {
			points = append(points, p.Setting+": "+wording.Ratio(&p.Ratio, p.CI)+" in "+wording.Count(p.Blocks, "block", "blocks"))
		}
		l.Items = append(l.Items, doc.Item{Text: s.Mode + ", " + s.Workload + ", " + s.Metric + ": " + wording.BareRatio(s.Low) + " to " + wording.BareRatio(s.High) +
			" times that of " + s.Baseline + "; " + strings.Join(points, "; ")})
	}
	if len(l.Items) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "sensitivity", Head: doc.Heading{Text: "Other settings of the generator"}, Blocks: []doc.Block{l}}}
}
