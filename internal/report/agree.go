package report

import (
	"tare/internal/report/say"
	"tare/internal/result"
)

// agreements words what two generators said of the same cost, one line each.
func agreements(v view) []string {
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
		text += "both tools find the same cost"
	case result.AgreeNo:
		text += "the two tools disagree about the cost"
	default:
		text += "cannot tell whether the two tools agree"
	}
	if a.Ratio == nil {
		return text
	}
	return text + "; the workload's own ratio is " + say.Ratio(a.Ratio, a.RatioCI) + " times that by " + a.Tool
}
