package runner

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// markInvalid checks the trials of a group against the rules that the study fixed
// beforehand, and records with each trial why it is invalid. No rule looks at how good a
// trial's values are: excluding the slow ones would make every mode look fast.
//
// CPU time that other programs use while trials are interleaved is taken from all modes
// alike and does not change their ratios. The limits of steal and of other programs
// therefore apply only to trials that ran alone. This does not hold for datagrams at a
// fixed rate: how many are lost depends on the moments at which an endpoint has no CPU,
// which differ between modes. The steady-state rule detects a disturbance of one mode
// within interleaved trials.
func (r *measurement) markInvalid(group []*trialRun) {
	steady := steadyStates(group, r.cfg.Study.Invalid)
	for i, tr := range group {
		if tr.err != nil || tr.Block == 0 || tr.Profiled { // it counts in no cell
			continue
		}
		var why []string
		if tr.observed.Local() {
			load := append(exceededLimits(tr, r.cfg.Study.Invalid), lackedCPU(tr, r.cfg.Study.Invalid.CPUWait)...)
			why = append(why, keptAtLink(tr, load)...)
			why = append(why, clockSet(tr.observed.Window.Metrics)...)
		}
		if down := tr.flaps; len(down) > 0 {
			why = append(why, fmt.Sprintf("the link of %s went down or up", strings.Join(down, ", ")))
		}
		if steady[i].Judged && steady[i].Unsettled {
			why = append(why, fmt.Sprintf("not steady: the second half differed by %+.1f %% from the first%s", 100*steady[i].Shift, otherModes(group)))
		}
		tr.invalidReason = strings.Join(why, "; ")
	}
}

func otherModes(group []*trialRun) string {
	if len(group) > 1 {
		return ", relative to the interleaved modes"
	}
	return ""
}

// exceededLimits returns the machine limits that were exceeded around a trial that ran
// alone. An unknown value exceeds no limit.
func exceededLimits(tr *trialRun, rules study.Invalid) (why []string) {
	long := tr.observed.Window.Metrics[result.MachineElapsed]
	if tr.observed.Shared || long <= 0 {
		return nil
	}
	for _, limit := range []struct {
		figure string
		most   quantity.Share
		text   string
	}{
		{result.MachineSteal, rules.Steal, "the hypervisor took"},
		{result.MachineOthers, rules.Others, "other programs used"},
	} {
		used, known := tr.observed.Window.Metrics[limit.figure]
		if share := used / long; known && limit.most.On() && share > limit.most.Of {
			text := fmt.Sprintf("%s %s of a CPU, more than %s", limit.text, percent(share), percent(limit.most.Of))
			if words := tr.observed.Window.Notes[limit.figure]; words != "" {
				text += " (" + words + ")"
			}
			why = append(why, text)
		}
	}
	return why
}

// keptAtLink returns the reasons why load makes a trial invalid: none if its goodput is the
// capacity of the link, which the load then cannot have changed. A note records that. Its
// set counts only if all its trials are valid; see package schedule.
func keptAtLink(tr *trialRun, load []string) []string {
	if len(load) == 0 || !analysis.FillsLink(tr.Workload, tr.underlay, tr.out) {
		return load
	}
	tr.out.Notes = append(tr.out.Notes, result.Note{Code: string(warning.KeptAtLink), Text: strings.Join(load, "; ") + ": valid nevertheless, because the link limited the goodput"})
	return nil
}

// sendsAtRate reports whether a trial sends datagrams at a fixed rate.
func (tr *trialRun) sendsAtRate() bool {
	return plan.SendsAtRate(tr.Workload)
}

// lackedCPU reports that an endpoint of a trial at a fixed rate of datagrams had no CPU for
// too long. How long its thread was ready without running also contains the time for which
// the mode's own processing kept the CPU, which is the mode's cost. Only as much of it
// counts as other programs used in total, and what the hypervisor took during the trial.
func lackedCPU(tr *trialRun, most quantity.Share) []string {
	wait, known := tr.endpointWait()
	if known {
		tr.setMachine(result.MachineEndpointWait, wait)
	}
	if !most.On() || !tr.sendsAtRate() {
		return nil
	}
	var share float64
	var by []string
	if others, long := tr.observed.Window.Metrics[result.MachineOthers], tr.observed.Window.Metrics[result.MachineElapsed]; known && others > 0 && long > 0 && tr.out.Traffic > 0 {
		share += min(wait/tr.out.Traffic, others/long, 1)
		by = append(by, "other programs")
	}
	if steal, long := tr.out.Machine[result.MachineSteal], tr.out.Machine[result.MachineTime]; steal > 0 && long > 0 {
		share += steal / long
		by = append(by, "the hypervisor")
	}
	if share <= most.Of {
		return nil
	}
	text := fmt.Sprintf("an endpoint had no CPU for %s of the time because of %s, more than %s", percent(share), strings.Join(by, " and "), percent(most.Of))
	if words := tr.observed.Window.Notes[result.MachineOthers]; words != "" {
		text += " (" + words + ")"
	}
	return []string{text}
}

// endpointWait is how long the endpoint that waited longer was ready to run but had no CPU,
// in seconds.
func (tr *trialRun) endpointWait() (longest float64, known bool) {
	for _, p := range tr.pairs {
		for _, end := range []traffic.Report{p.client, p.server} {
			if end.CPUWait != nil {
				longest, known = max(longest, *end.CPUWait), true
			}
		}
	}
	return longest, known
}

// setMachine records a value of the machine with the trial.
func (tr *trialRun) setMachine(name string, v float64) {
	if tr.out.Machine == nil {
		tr.out.Machine = map[string]float64{}
	}
	tr.out.Machine[name] = v
}

// machineClockStep is the metric of how far the wall clock was set; see package observe.
const machineClockStep = "clock_step"

// clockSet reports that the wall clock was set.
func clockSet(figures map[string]float64) []string {
	if step := figures[machineClockStep]; step > 0 {
		return []string{fmt.Sprintf("the clock was set by %.3g s, or the machine was suspended", step)}
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// steadyBatch is the batch length of the steady-state rule in seconds: five samples of
// 0.1 s.
const steadyBatch = 0.5

// steadyStates decides for each bulk transfer whether it was steady. Interleaved trials
// share the machine's background load, which is removed from the series, round by round,
// by dividing by the geometric mean of all of them. Trials below 2 s give no result, and
// a trial of 4 s shows only a very large change: the rule is for long trials, and the
// pilot trial covers the short ones.
func steadyStates(group []*trialRun, rules study.Invalid) []stats.Steady {
	out := make([]stats.Steady, len(group))
	if rules.Unsettled != study.On {
		return out
	}
	var together [][]float64
	var at []int
	var interval float64
	for i, tr := range group {
		if tr.err != nil || tr.out.Series == nil || !plan.Bulk(tr.Workload) {
			continue
		}
		together, at, interval = append(together, tr.out.Series.Values), append(at, i), tr.out.Series.Interval
	}
	if interval <= 0 {
		return out
	}
	m := max(1, int(math.Round(steadyBatch/interval)))
	for j, series := range withoutSharedVariation(together) {
		out[at[j]] = stats.SteadyState(series, m)
	}
	return out
}

// withoutSharedVariation divides series, sample by sample, by the geometric mean of all
// of them: this removes what affected all of them alike and keeps what affected one. A
// single series is returned unchanged. If the series differ in length or contain a sample
// that is not above 0, the common part is unknown and the result is empty.
func withoutSharedVariation(together [][]float64) [][]float64 {
	if len(together) < 2 {
		return together
	}
	out := make([][]float64, len(together))
	for i := range together[0] {
		var sum float64
		for _, s := range together {
			if len(s) != len(together[0]) || !(s[i] > 0) {
				return make([][]float64, len(together))
			}
			sum += math.Log(s[i])
		}
		for j, s := range together {
			out[j] = append(out[j], math.Exp(math.Log(s[i])-sum/float64(len(together))))
		}
	}
	return out
}
