package runner

import (
	"fmt"
	"math"
	"strings"

	"tare/internal/result"
	"tare/internal/runner/schedule"
	"tare/internal/stats"
	"tare/internal/study"
)

// markInvalid holds the trials of a group to the rules that the study fixed beforehand,
// and notes with each trial why it is ruled out. None of the rules looks at how good
// a trial's figures are: to leave out the slow ones would make every mode fast.
//
// What others take of the machine while modes take turns is taken from all of them
// alike, and leaves their ratios as they are; that is what turns are for. The limits
// of steal and of others hold for trials that ran alone. What hits one mode alone
// within the turns is seen by the rule of the steady state.
func (r *run) markInvalid(group []*trialRun) {
	steady := steadyStates(group, r.cfg.Study.Invalid)
	for i, tr := range group {
		if tr.err != nil || tr.Block == 0 || tr.Profiled { // it counts in no cell
			continue
		}
		var why []string
		if tr.observed.Local() {
			why = append(why, overLimits(tr, r.cfg.Study.Invalid)...)
			why = append(why, clockSet(tr.observed.Window.Metrics)...)
		}
		if down := tr.flaps; len(down) > 0 {
			why = append(why, fmt.Sprintf("the link of %s went down or up", strings.Join(down, ", ")))
		}
		if steady[i].Judged && steady[i].Unsettled {
			why = append(why, fmt.Sprintf("it was not steady: its second half was %+.1f %% beside its first%s", 100*steady[i].Shift, beside(group)))
		}
		tr.invalidReason = strings.Join(why, "; ")
	}
}

func beside(group []*trialRun) string {
	if len(group) > 1 {
		return ", beside what the modes that took turns with it did"
	}
	return ""
}

// overLimits says which limits on the machine were passed around a trial that ran
// alone. What is unknown passes none.
func overLimits(tr *trialRun, rules study.Invalid) (why []string) {
	long := tr.observed.Window.Metrics[result.MachineElapsed]
	if tr.observed.Shared || long <= 0 {
		return nil
	}
	for _, limit := range []struct {
		figure string
		most   study.Share
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

// figureStep is by how much the clock was set; see package observe.
const figureStep = "clock_step"

// clockSet says that the clock of the day was set.
func clockSet(figures map[string]float64) []string {
	if step := figures[figureStep]; step > 0 {
		return []string{fmt.Sprintf("the clock was set by %.3g s, or the machine slept", step)}
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// steadyBatch is how long a batch of the steady-state rule is, in seconds: five
// samples of 0.1 s.
const steadyBatch = 0.5

// steadyStates judges, for each trial that transferred in bulk, whether it was
// steady. Those that took turns share the machine's weather; it is taken out of the
// series, round by round, by dividing by the geometric mean of all of them. Below
// 2 s there is no answer, and one of 4 s shows only the grossest change: the rule
// guards the long trials, and the pilot trial the short ones.
func steadyStates(group []*trialRun, rules study.Invalid) []stats.Steady {
	out := make([]stats.Steady, len(group))
	if rules.Unsettled != study.On {
		return out
	}
	var together [][]float64
	var at []int
	var interval float64
	for i, tr := range group {
		if tr.err != nil || tr.out.Series == nil || !schedule.Bulk(tr.Workload) {
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

// withoutSharedVariation divides series, sample by sample, by the geometric mean of all of
// them: what hit all alike is gone, and what hit one remains. One series alone stays
// as it is. Series of different lengths, or with a sample that is not above 0, tell
// nothing of the weather and come back empty.
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
