package report

import (
	"strings"

	"tare/internal/printable"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// PathFigure draws the path of a mode as an SVG file: with what its last proof showed,
// or, of a mode that nobody has measured, with what the counters must show. Nothing
// where nothing is known of the path.
func PathFigure(m result.Mode) []byte {
	d := topologyOf(printable.Value(m))
	if d == nil {
		return nil
	}
	return d.Figure.Standalone()
}

// PathInWords is the way through a mode by its steps, place by place; empty where
// nothing is known of it.
func PathInWords(m result.Mode) []string {
	var out []string
	for _, way := range paths(printable.Value(m).Topology) {
		for _, at := range places(way) {
			var labels []string
			for _, s := range at.Stops {
				labels = append(labels, s.Label)
			}
			out = append(out, strings.TrimPrefix(at.Where+": "+strings.Join(labels, ", "), ": "))
		}
	}
	return out
}

// demanded says what the counters of a step must show, one that rests in a line for all.
func demanded(found []result.Finding, label string) (out []chart.Reading) {
	for i, f := range found {
		name, _ := counted(f.Counter)
		if rests(f) && i > 0 && rests(found[i-1]) {
			continue
		}
		text := strings.TrimSpace(name + " " + inWords(f.Expect))
		if rests(f) && (name == "tx" || name == "rx") {
			text = "itself at rest"
		}
		out = append(out, chart.Reading{Text: shortened(text, label), Tip: f.Counter + ": " + inWords(f.Expect)})
	}
	return out
}

// inWords is what a word of docs/proof.md means, as short as a drawing needs it.
func inWords(expect string) string {
	switch expect {
	case "forward":
		return "= from client"
	case "reverse":
		return "= from server"
	case "both":
		return "= both ways"
	case "connections":
		return "each connection"
	case "forward at least":
		return "≥ from client"
	case "reverse at least":
		return "≥ from server"
	case "both at least":
		return "≥ both ways"
	case "works":
		return "to pass it on"
	case "still", "unmet", "idles":
		return "none"
	}
	return expect
}
