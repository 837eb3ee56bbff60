package answer

import (
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/view/model"
	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// mostCompared is how many comparisons the first screen shows.
const mostCompared = 6

// comparisonNotes are the first comparisons of the study by their main metric, each a line of the first screen.
func comparisonNotes(b *model.Builder) []doc.Note {
	var out []doc.Note
	for _, c := range b.Comparisons[:min(len(b.Comparisons), mostCompared)] {
		n := doc.Note{About: []string{c.ID}, Text: "nothing to compare: " + piece.OrUnknown(c.Reason)}
		if len(c.Lines) > 0 {
			l := c.Lines[0]
			n.Text = piece.Noun(l.Known) + " "
			if l.Ratio != nil && l.Expect == nil {
				change, interval := wording.Delta(l.Ratio, l.RatioCI)
				n.Text += strings.TrimSpace(change+" "+interval) + ", "
			}
			n.Text += l.Outcome()
		}
		if c.Where != "" {
			n.Text = c.Where + ": " + n.Text
		}
		out = append(out, n)
	}
	return out
}

// elsewhere translates what modes add to one exchange into shares of the reader's own round trip, a note for each workload.
// An exchange of this run is a few microseconds long, so that its percentages are not those of any network.
func elsewhere(b *model.Builder, columns []mainColumn) []doc.Note {
	if b.RTT <= 0 {
		return nil
	}
	trip := "On a round trip of " + wording.Value(b.RTT.Seconds(), "s")
	if b.RTTOf != "" {
		trip += ", the shortest to " + wording.Cut(b.RTTOf, 60)
	}
	var out []doc.Note
	for _, c := range columns {
		if c.Each == "" || c.Metric.Unit != "1/s" {
			continue
		}
		var parts []string
		for _, r := range c.Rows() {
			if r.Cell == nil || r.Cell.Added == nil || model.Unmeasured(r.Mode) || r.Mode.Control {
				continue
			}
			a, _ := wording.Each(*r.Cell.Added)
			longer := 1 + a.Value/b.RTT.Seconds()
			var ci *result.Interval
			if a.CI != nil {
				ci = &result.Interval{1 + a.CI[0]/b.RTT.Seconds(), 1 + a.CI[1]/b.RTT.Seconds()}
			}
			change, interval := wording.InPercent.Delta(&longer, ci)
			parts = append(parts, strings.TrimSpace(r.Mode.ID+" "+change+" "+interval))
		}
		if len(parts) > 0 {
			out = append(out, doc.Note{About: []string{trip},
				Text: "a " + c.Each + " of " + c.name + " takes longer by: " + strings.Join(parts, "; ")})
		}
	}
	return out
}

// kneeNotes are the knees of all modes but controls, a line of the first screen for each sweep. Modes with the same one are
// together.
func kneeNotes(b *model.Builder) []doc.Note {
	var out []doc.Note
	for _, s := range b.Sweeps {
		var texts []string
		modes := map[string][]string{}
		for _, m := range b.Run.Modes {
			k, ok := s.Knee(m.ID)
			if !ok || m.Control {
				continue
			}
			text := k.Brief()
			if modes[text] == nil {
				texts = append(texts, text)
			}
			modes[text] = append(modes[text], m.ID)
		}
		var parts []string
		for _, text := range texts {
			parts = append(parts, doc.Note{About: modes[text]}.Names()+": "+text)
		}
		if len(parts) > 0 {
			out = append(out, doc.Note{About: []string{s.ID}, Text: strings.Join(parts, "; ")})
		}
	}
	return out
}
