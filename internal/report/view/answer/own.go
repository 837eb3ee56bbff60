package answer

import (
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/wording"
)

// leastOwnShare is the share of an exchange from which the generator's own time is stated.
const leastOwnShare = 0.01

// ownNotes state what the generator itself adds to the exchanges of a workload where that is more than 1 %, with the ratios
// without it. The ratios of the table include it.
func ownNotes(b *model.Builder) []doc.Note {
	var out []doc.Note
	for _, o := range b.Run.OwnShares {
		if !(o.Share > leastOwnShare && o.Share < 1) {
			continue
		}
		var modes []string
		for _, m := range o.Modes[:min(len(o.Modes), mostRanges)] {
			modes = append(modes, m.Mode+" "+wording.BareRatio(m.Ratio)+"x")
		}
		text := "the generator's own share is " + model.OwnShare(o)
		if len(modes) > 0 {
			text += "; without it: " + strings.Join(modes, ", ")
		}
		out = append(out, doc.Note{About: []string{o.Workload}, Text: text})
	}
	return out
}
