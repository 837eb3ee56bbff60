package verdict

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/warning"
)

// baselineMissing is the warning about a mode without a baseline to compare it with.
func baselineMissing(m result.Mode, modes []result.Mode, workload string) result.Warning {
	why := "has no valid trial of this workload"
	i := slices.IndexFunc(modes, func(b result.Mode) bool { return b.ID == m.Baseline })
	switch {
	case i < 0:
		why = "is not a mode of the run"
	case modes[i].Status != result.ModeMeasured:
		why = "is " + string(modes[i].Status)
		if modes[i].Reason != "" {
			why += " (" + modes[i].Reason + ")"
		}
	}
	return result.Warning{Code: string(warning.BaselineMissing), Scope: readings.Scope(m.ID, workload),
		Text: fmt.Sprintf("%s cannot be compared: its baseline %s %s", m.ID, m.Baseline, why)}
}

// onlyBaseline reports whether a mode is in the run without its own baseline because another is compared with it.
func onlyBaseline(m result.Mode, modes []result.Mode) bool {
	return !slices.ContainsFunc(modes, func(b result.Mode) bool { return b.ID == m.Baseline }) &&
		slices.ContainsFunc(modes, func(other result.Mode) bool { return other.Baseline == m.ID })
}

// beatsBaseline is the warning about a mode that is better than its baseline, whose path
// does a part of what the mode's path does.
func beatsBaseline(c result.Cell) result.Warning {
	return warning.New(warning.BeatsBaseline, readings.Scope(c.Mode, c.Workload, c.Metric),
		"%s is better than its baseline %s (%.3g times its %s), which a longer path should not be. Check the path counters for a shorter path, "+
			"and that MTU, offloads, congestion control, socket buffers and CPU placement are the same.", c.Mode, c.Baseline, warning.Said(*c.Ratio), warning.Said(c.Metric))
}

// controlDiffers is the warning about an A/A control that differs from its baseline.
func controlDiffers(c result.Cell) result.Warning {
	return warning.New(warning.ControlDiffers, readings.Scope(c.Mode, c.Workload, c.Metric),
		"%s is a second copy of %s, and yet it is %s (%.3g times its %s): something other than the mode causes differences of this size, "+
			"so doubt them. Use a quieter machine or more blocks.", c.Mode, c.Baseline, c.Verdict, warning.Said(*c.Ratio), warning.Said(c.Metric))
}

// twoTests is the warning about a cell of which two tests disagree.
func twoTests(c result.Cell) result.Warning {
	return warning.New(warning.TestsDisagree, readings.Scope(c.Mode, c.Workload, c.Metric),
		"the t test shows a difference between %s and %s (p %.2g), and the sign-flip test of the same blocks does not (p %.2g): none is claimed. Run more blocks.",
		c.Mode, c.Baseline, warning.Said(*c.P), warning.Said(*c.FlipP))
}

// twoBands is the warning about a cell whose blocks form two bands.
func twoBands(c result.Cell, l levels) result.Warning {
	of, show := "values form", func(v float64) string { return Rounded(v, c.Unit) }
	things := "values"
	if l.ratio {
		of, things, show = "ratios to "+c.Baseline+" form", "blocks", func(v float64) string { return fmt.Sprintf("%.3g", v) }
	}
	return warning.New(warning.TwoBands, readings.Scope(c.Mode, c.Workload, c.Metric),
		"the %s two bands, %d %s near %s, %d near %s: the mean describes neither. Look at the single trials; pin CPUs, or set buffers to a fixed size.",
		of, warning.Said(l.Low.N), warning.Said(things), warning.Said(show(l.Low.Value)), warning.Said(l.High.N), warning.Said(show(l.High.Value)))
}

// Rounded is a value with three significant digits and, where it is large, a prefix.
func Rounded(v float64, unit string) string {
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

// Percent is a share in percent, for texts.
func Percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
