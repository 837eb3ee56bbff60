package answer

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/wording"
)

// mostRanges is how many ranges of ratios the first screen shows.
const mostRanges = 12

// sensitivityNotes are the ranges of the ratios over the settings of the generator, a note for each mode and workload; for a run
// that has not measured them, a note that says so.
func sensitivityNotes(b *model.Builder, columns []mainColumn) []doc.Note {
	if len(b.Run.Sensitivity) == 0 {
		compares := func(c mainColumn) bool {
			return slices.ContainsFunc(c.Rows(), func(r model.Row) bool { return r.Cell != nil && r.Cell.Ratio != nil && !r.Mode.Control })
		}
		if b.Run.Source != "" || !slices.ContainsFunc(columns, compares) {
			return nil
		}
		return []doc.Note{{About: []string{"Generator settings"}, Text: "ratios hold for these; --sensitivity measures how far they depend on them"}}
	}
	var out []doc.Note
	for _, s := range b.Run.Sensitivity[:min(len(b.Run.Sensitivity), mostRanges)] {
		out = append(out, doc.Note{About: []string{s.Mode + " " + s.Workload}, Text: wording.BareRatio(s.Low) + "x to " + wording.BareRatio(s.High) + "x over " + settings(s)})
	}
	return out
}

// settings lists the settings of the generator by which a range was found.
func settings(s result.Sensitivity) string {
	var all, noisy []string
	for _, p := range s.Settings[1:] {
		if p.Noisy {
			noisy = append(noisy, p.Setting)
		} else {
			all = append(all, p.Setting)
		}
	}
	text := "the run's own settings"
	if len(all) > 0 {
		text = strings.Join(all, ", ") + " and " + text
	}
	if len(noisy) > 0 {
		text += "; too noisy to tell: " + strings.Join(noisy, ", ")
	}
	return text
}
