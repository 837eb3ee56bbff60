package verdict

import (
	"cmp"
	"slices"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// Sensitivity compares the ratio of each mode in the primary metric of a workload with those that it has with other settings of
// the generator, as the sensitivity pass of a study measured them. A setting of the cores counts only where the trials of
// mode and baseline ran on the cores that it says: a machine with one CPU has no second one, and containers with CPUs of their own are
// not placed. Modes and workloads without a ratio in two settings are left out.
func Sensitivity(in Input, s study.Study) []result.Sensitivity {
	var out []result.Sensitivity
	base := map[string]string{}
	for _, m := range in.Modes {
		base[m.ID] = m.Baseline
	}
	varied := plan.Varied(s)
	for _, w := range s.Workloads {
		settings := []study.Varied{{Workload: w, Of: w.Name(), Text: ownSetting(w)}}
		for _, v := range varied {
			if v.Of == w.Name() {
				settings = append(settings, v)
			}
		}
		if len(settings) < 2 {
			continue
		}
		at := map[string]int{} // in out, by mode and metric
		for _, v := range settings {
			one := in
			one.Workloads, one.Values = []string{v.Name()}, nil
			one.Trials = slices.DeleteFunc(slices.Clone(in.Trials), func(t result.Trial) bool {
				return t.Workload != v.Name() || v.Placement != w.Placement && !placed(t, v.Placement)
			})
			for _, o := range Ratios(one) {
				if !o.Known {
					continue
				}
				p := result.SensitivityPoint{Setting: v.Text, Ratio: o.Ratio.Ratio(), Blocks: o.Ratio.N}
				if lo, hi, ok := o.Ratio.Interval(readings.Confidence); ok {
					p.CI = &result.Interval{lo, hi}
				}
				key := o.Mode + " " + o.Metric
				i, known := at[key]
				if !known {
					if v.Name() != w.Name() {
						continue // the study's own setting has no ratio to compare with
					}
					i = len(out)
					at[key] = i
					out = append(out, result.Sensitivity{Mode: o.Mode, Baseline: base[o.Mode], Workload: w.Name(), Metric: o.Metric, Low: p.Ratio, High: p.Ratio})
				}
				p.Noisy = v.Name() != w.Name() && (p.CI == nil || p.CI[1] > noisyPoint*p.CI[0])
				out[i].Settings = append(out[i].Settings, p)
				if !p.Noisy {
					out[i].Low, out[i].High = min(out[i].Low, p.Ratio), max(out[i].High, p.Ratio)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(o result.Sensitivity) bool { return len(o.Settings) < 2 })
}

// noisyPoint is how many times its lower limit the upper limit of a ratio's interval may be for the ratio to count in a range: with
// more, the range would be noise.
const noisyPoint = 1.25

// ownSetting says in words how a workload of a study has what its sensitivity pass varies.
func ownSetting(w study.Workload) string {
	var parts []string
	if w.WriteSize > 0 {
		buffers := "buffers of " + w.SendBuffer.String()
		if w.SendBuffer.Auto {
			buffers = "automatic buffers"
		}
		parts = append(parts, "writes of "+w.WriteSize.String(), buffers)
	}
	if w.Placement != study.Free {
		parts = append(parts, strings.ReplaceAll(w.Placement, "_", " "))
	}
	return cmp.Or(strings.Join(parts, ", "), "the study's settings")
}

// placed reports whether client and server of a trial ran on one core or on two, as a placement says.
func placed(t result.Trial, placement string) bool {
	if t.Client == nil || t.Server == nil || t.Client.CPU == nil || t.Server.CPU == nil {
		return false
	}
	return (*t.Client.CPU == *t.Server.CPU) == (placement == study.OneCore)
}
