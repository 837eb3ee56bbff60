package piece

import (
	"strings"

	"tare/internal/result"
	"tare/internal/wording"
)

// MetricClass is how important a metric is: the main ones, CPU costs, 99th percentiles, others,
// and those that a terminal leaves out elsewhere.
func MetricClass(m result.Metric) int {
	switch {
	case m.Primary:
		return 0
	case strings.HasPrefix(m.Name, "cpu_cost"):
		return 1
	case strings.HasSuffix(m.Name, "_p99") && !m.Detail:
		return 2
	case !m.Detail:
		return 3
	}
	return 4
}

// Differences lists what changed before a run: "kernel 6.8.0, now 6.9.1".
func Differences(all []result.Difference) string {
	var parts []string
	for i, d := range all {
		if i == MostListed && len(all) > MostListed+1 {
			parts = append(parts, wording.Count(len(all)-i, "more property", "more properties"))
			break
		}
		parts = append(parts, strings.TrimSpace(wording.Cut(d.Scope, 60)+" "+wording.Cut(d.Name, 60))+" "+OrText(wording.Cut(d.Before, 60), "not recorded")+", now "+OrText(wording.Cut(d.After, 60), "not recorded"))
	}
	return strings.Join(parts, "; ")
}

// FactsInLine are what makes a machine, in one line.
func FactsInLine(facts []result.Fact) string {
	var parts []string
	for _, f := range facts {
		parts = append(parts, strings.TrimSpace(f.Name+" "+wording.Cut(f.Value, 60)))
	}
	return strings.Join(parts, ", ")
}
