package result

import (
	"fmt"
	"slices"
)

// Saturated warns of each mode that filled its underlay in a workload in which not all
// did: its own cost may be less than the ratio shows, because beside it the underlay
// was what limited. Where all filled it, [LinkLimits] says so.
func Saturated(links []Link, cells []Cell, trials []Trial, limited []LinkLimited) []Warning {
	var out []Warning
	for _, l := range links {
		if slices.ContainsFunc(limited, func(o LinkLimited) bool { return o.Workload == l.Workload }) {
			continue
		}
		carries := l.carries(trials)
		for _, c := range best(cells, l.Workload) {
			if c.Mode != l.Mode || carries <= 0 {
				continue
			}
			if reached := *c.Value / carries; reached >= linkReached && reached <= linkPassed {
				out = append(out, Warning{"underlay_saturated", scope(l.Mode, l.Workload), fmt.Sprintf(
					"its %s is %.3g %% of what the underlay of %s carries: it could be faster on a faster one, and what it costs beside others is understated",
					c.Metric, 100*min(1, reached), rounded(l.Rate, "bit/s"))})
			}
		}
	}
	return out
}
