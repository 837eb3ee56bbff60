package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/result"
)

// baselineMissing warns of a mode that is compared with nothing, and says why.
func baselineMissing(m result.Mode, modes []result.Mode, workload string) result.Warning {
	why := "it has no ok trial of this workload"
	i := slices.IndexFunc(modes, func(b result.Mode) bool { return b.ID == m.Baseline })
	switch {
	case i < 0:
		why = "it is not among the modes of the run"
	case modes[i].Status != result.ModeMeasured:
		why = "it is " + string(modes[i].Status)
		if modes[i].Reason != "" {
			why += " (" + modes[i].Reason + ")"
		}
	}
	return result.Warning{Code: "baseline_missing", Scope: scope(m.ID, workload),
		Text: fmt.Sprintf("nothing to compare %s with: its baseline is %s, but %s", m.ID, m.Baseline, why)}
}

// beatsBaseline warns of a mode that seems to cost less than nothing: the raw
// path does all that the mode does, and less.
func beatsBaseline(c result.Cell) result.Warning {
	return result.Warning{Code: "beats_baseline", Scope: scope(c.Mode, c.Workload, c.Metric), Text: fmt.Sprintf(
		"%s is better than its baseline %s (%.3g times its %s), which a longer path should not be; before believing it, check "+
			"that traffic did not take a short cut (path counters), that MTU, offloads, congestion control and socket buffers "+
			"are alike, and that both were pinned alike", c.Mode, c.Baseline, *c.Ratio, c.Metric)}
}

// controlDiffers warns of a control that is told apart from what it is a copy of.
func controlDiffers(c result.Cell) result.Warning {
	return result.Warning{Code: "control_differs", Scope: scope(c.Mode, c.Workload, c.Metric), Text: fmt.Sprintf(
		"%s is %s once more, and yet it is %s (%.3g times its %s): something other than the mode tells trials apart here, "+
			"so believe no difference of that size", c.Mode, c.Baseline, c.Verdict, *c.Ratio, c.Metric)}
}

// twoBands warns of trials that switch between two levels.
func twoBands(c result.Cell) result.Warning {
	return result.Warning{Code: "two_bands", Scope: scope(c.Mode, c.Workload, c.Metric), Text: fmt.Sprintf(
		"the trials fall into two bands, %d near %s and %d near %s; their mean stands for neither",
		c.Bands.Low.N, rounded(c.Bands.Low.Value, c.Unit), c.Bands.High.N, rounded(c.Bands.High.Value, c.Unit))}
}

// rounded is a figure with three digits and, where it is large, a prefix.
func rounded(v float64, unit string) string {
	for _, p := range []struct {
		from   float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.from {
			return fmt.Sprintf("%.3g %s%s", v/p.from, p.prefix, strings.TrimPrefix(unit, "1"))
		}
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
