package section

import (
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// setupLegend says what the times are.
const setupLegend = "From when the driver began to make the server's sandbox, without its engine: each set-up is one value. Percentiles with their 95 % intervals by order statistics; a limit that so few set-ups do not have is unknown."

// SetupTimes are the percentiles of the times of set-ups, by workload and mode.
func SetupTimes(b *model.Builder) []doc.Block {
	all := piece.Ordered(b.Modes, b.Run.SetupTimes, func(s result.SetupTime) string { return s.Mode })
	var blocks []doc.Block
	for _, id := range piece.WorkloadsIn(b.Run.SetupTimes, func(s result.SetupTime) string { return s.Workload }) {
		l := doc.List{Tight: true}
		for _, s := range all {
			title := s.Step
			if m, known := result.MetricNamed(s.Metric); known {
				title = strings.ToLower(m.Title[:1]) + m.Title[1:]
			}
			if s.Workload != id || title == "" {
				continue
			}
			l.Items = append(l.Items, doc.Item{Text: id + ", " + s.Mode + ", " + title + ": median " + percentileText(s.P50) + ", 90th percentile " + percentileText(s.P90) +
				", of " + wording.Count(s.Setups, "set-up", "set-ups")})
		}
		blocks = append(blocks, l)
	}
	if len(blocks) == 0 {
		return nil
	}
	blocks = append([]doc.Block{doc.Paragraph{Text: setupLegend}}, blocks...)
	return []doc.Block{doc.Section{ID: "setup-times", Head: doc.Heading{Text: "How long a set-up takes"}, Nav: "Set-up", Blocks: blocks}}
}

// percentileText is a percentile with its interval.
func percentileText(p result.Percentile) string {
	if !piece.Finite(&p.Value) {
		return wording.Unknown
	}
	scale := wording.ScaleFor("s", p.Value)
	limit := func(v *float64) string {
		if !piece.Finite(v) {
			return wording.Unknown
		}
		return scale.Number(*v)
	}
	return scale.Value(p.Value) + " (" + limit(p.Low) + " to " + limit(p.High) + ")"
}
