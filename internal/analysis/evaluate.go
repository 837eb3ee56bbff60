// Package analysis computes what follows from the trials of a run: cells, comparisons, sums
// and warnings. It is pure, as the packages in it are: it reads no file and no clock, and writes nothing.
package analysis

import (
	"slices"

	"tare/internal/analysis/claims"
	"tare/internal/analysis/parts"
	"tare/internal/analysis/sums"
	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/unit"
	"tare/internal/warning"
)

// Evidence is what a run is judged by, apart from its modes. Study and Trials are in its
// directory. The rest is only known during the run; what is absent is not judged.
type Evidence struct {
	Study  study.Study // resolved
	Trials []result.Trial
	// Lab says that the modes are in a lab, whose underlays have the rates of the study.
	Lab bool
	// Elsewhere says that the machine values of the trials are not those of the machines of
	// client and server.
	Elsewhere bool
	// Survey is the settings of the modes' network stacks.
	Survey Survey
	// MissingCPUCost is the number of trials without a CPU cost, and FirstMissing the first
	// of them, with the reason.
	MissingCPUCost int
	FirstMissing   string
}

// Evaluate returns a run with everything that follows from its trials: the tally, cells,
// rankings, comparisons, claims, sensitivity, crossings, agreements, sums, limits, whether it is too noisy to
// judge, and the warnings about them, each once and after those that the run has. It reads
// Modes, Status, CostPass and Warnings of the run. Without a CostPass, it is derived from the
// trials.
func Evaluate(run result.Run, in Evidence) result.Run {
	run.Warnings = slices.Clone(run.Warnings)
	e := &evaluation{run: run, in: in}
	s, names := in.Study, plan.Names(in.Study)
	judged := verdict.Input{Modes: run.Modes, Workloads: names, Trials: in.Trials, Rule: RuleOf(s, in.Trials), Serial: verdict.SerialWorkloads(s)}
	warnings := e.judge(judged)
	e.passed()
	e.ruledOut()
	e.busyTurns()
	e.warnMissingCPUCost()
	e.breakdowns()
	e.run.ECDFs = sums.ECDFs(run.Modes, names, in.Trials)
	e.crossed(judged)
	e.saturated()
	for _, w := range plan.Workloads(s) {
		e.compareEnds(w)
	}
	e.comparePaths()
	e.pressed()
	e.run.Scenarios = scenarios(s)
	e.run.Comparisons = verdict.Comparisons(judged, e.run.Scenarios, asked(s))
	e.run.CostByParts = parts.Evaluate(judged, s.CostByParts, e.run.Breakdowns)
	if e.run.CostByParts != nil {
		e.run.Rankings = nil // its modes are steps of one path, which are compared as such
	}
	e.run.Claims = claims.Evaluate(judged, s, e.run)
	agreements, disagreements := verdict.Agreements(run.Modes, verified(s), in.Trials, judged.Rule)
	e.run.Agreements = agreements
	e.run.OwnShares = verdict.OwnShares(judged, closedWorkloads(plan.Workloads(s)), e.run.Cells)
	e.run.Sensitivity = verdict.Sensitivity(judged, s)
	e.run.Losses = sums.Losses(run.Modes, names, in.Trials)
	e.run.Attempts = sums.Attempts(run.Modes, names, in.Trials)
	e.run.Requests = sums.Requests(plan.Workloads(s))
	e.run.SetupTimes = sums.SetupTimes(run.Modes, names, in.Trials)
	e.run.SetupGrowths = sums.SetupGrowths(run.Modes, s.Modes, names, in.Trials)
	e.run.TCPLimits = nil
	if s.Evidence.Counters != study.Off {
		e.run.TCPLimits = sums.TCPLimits(run.Modes, measured(s), in.Trials)
	}
	if e.run.CostByParts != nil && s.CostByParts.Causes {
		e.run.CostByParts.Explanations = parts.Explain(e.run, s.CostByParts.Within, judged)
	}
	e.add(warnings)
	e.add(disagreements)
	return e.run
}

// EvaluateNumbers returns a run with what follows from values alone: the tally, cells,
// rankings, and the warnings about them.
func EvaluateNumbers(run result.Run, in verdict.Input) result.Run {
	run.Warnings = slices.Clone(run.Warnings)
	e := &evaluation{run: run}
	e.run.Modes, e.run.Metrics = in.Modes, in.Metrics
	e.add(e.judge(in))
	return e.run
}

// evaluation is a run during Evaluate.
type evaluation struct {
	run result.Run
	in  Evidence
}

// warn adds a warning that is not there yet.
func (e *evaluation) warn(code warning.Code, scope, format string, args ...any) {
	e.add([]result.Warning{warning.New(code, scope, format, args...)})
}

func (e *evaluation) add(warnings []result.Warning) {
	for _, w := range warnings {
		if !slices.Contains(e.run.Warnings, w) {
			e.run.Warnings = append(e.run.Warnings, w)
		}
	}
}

// judge makes the cells and rankings and returns their warnings, which come after all others.
func (e *evaluation) judge(in verdict.Input) []result.Warning {
	e.run.Rankings = nil
	cells, warnings := verdict.JudgeEach(in, func(f verdict.Family) { e.run.Rankings = append(e.run.Rankings, f.Rankings()...) })
	e.run.Cells, e.run.Trials, e.run.Noisy = cells, result.Count(in.Trials), in.Rule.Noisy
	e.run.NoisyWorkloads = nil
	for _, w := range in.Workloads {
		if why := in.Rule.NoisyIn[w]; why != "" && in.Rule.Noisy == "" {
			e.run.NoisyWorkloads = append(e.run.NoisyWorkloads, w)
			e.warn(warning.NoisyWorkload, w, "%s", warning.Said(why))
		}
	}
	return warnings
}

// warnMissingCPUCost warns of trials without a CPU cost, in one warning.
func (e *evaluation) warnMissingCPUCost() {
	if n := e.in.MissingCPUCost; n > 0 {
		e.warn(warning.NoCPUCost, "run", "trials whose CPU cost is unknown: %d; the first, %s", warning.Said(n), e.in.FirstMissing)
	}
}

// ruledOut warns of invalid trials, in one warning.
func (e *evaluation) ruledOut() {
	n := result.Count(e.in.Trials)
	if n.Invalid == 0 {
		return
	}
	type set struct {
		block    int
		workload string
	}
	sets := map[set]bool{}
	made := 0
	for _, t := range e.in.Trials {
		if t.Requeued {
			sets[set{t.Block, t.Workload}] = true
			made++
		}
	}
	first := e.in.Trials[slices.IndexFunc(e.in.Trials, func(t result.Trial) bool { return t.Status == result.TrialInvalid })]
	e.warn(warning.InvalidTrials, "run", "%d of %d trials were invalid by the study's rules, and %d repeated at the end, in %s; the first, %s %s in block %d: %s",
		warning.Said(n.Invalid), warning.Said(n.OK+n.Invalid), made, unit.Count(len(sets), "group", "groups"), first.Mode, first.Workload, first.Block, first.Reason)
}

// mostBusy is the CPU time of others, in CPUs, above which a trial says little of a quiet machine.
const mostBusy = 0.5

// busyTurns warns of the CPU time that others used while modes were interleaved. It makes no
// trial invalid, but the values are not those of a quiet machine; if that is so of most trials,
// nor are the times that modes add.
func (e *evaluation) busyTurns() {
	rules := e.in.Study.Invalid
	if e.in.Elsewhere {
		return
	}
	for _, what := range []struct {
		figure, of string
		most       float64
		on         bool
		text       string
	}{
		{result.MachineSteal, result.MachineTime, rules.Steal.Of, rules.Steal.On(), "the hypervisor took"},
		{result.MachineOthers, result.MachineElapsed, rules.Others.Of, rules.Others.On(), "other programs used"},
	} {
		var over, busy, all int
		var worst float64
		for _, t := range e.in.Trials {
			long := t.Machine[what.of]
			used, known := t.Machine[what.figure]
			if t.Turns < 2 || t.Aside() || !known || long <= 0 {
				continue
			}
			all++
			if used/long > what.most {
				over++
				worst = max(worst, used/long)
			}
			if used/long > mostBusy {
				busy++
			}
		}
		if 2*busy > all {
			e.warn(warning.BusyRun, "run", "in %d of %d interleaved trials %s more than %s of a CPU: values and what a mode adds in time include waits for a CPU, "+
				"and ratios need not be those of a quiet machine", busy, all, what.text, warning.Said(verdict.Percent(mostBusy)))
		}
		if what.on && over > 0 {
			e.warn(warning.BusyTurns, "run", "in %d of %d interleaved trials %s more than %s of a CPU, up to %s: all modes shared it, so ratios are valid, "+
				"but values are lower than on a quiet machine and vary more", over, all, what.text, verdict.Percent(what.most), warning.Said(verdict.Percent(worst)))
		}
	}
}

// breakdowns sums up the stacks of all trials, and warns of what they lack.
func (e *evaluation) breakdowns() {
	e.run.Breakdowns = sums.Breakdowns(e.run.Modes, plan.Names(e.in.Study), e.in.Trials)
	for i := range e.run.Breakdowns {
		b := &e.run.Breakdowns[i]
		if b.Samples == 0 {
			continue
		}
		if b.Unknown > mostUnknown {
			e.warn(warning.StacksUnknown, b.Mode+" "+b.Workload, "%s of the sampled stacks match no rule: the components are too small by that share", warning.Said(verdict.Percent(b.Unknown)))
		}
		if all := b.Samples + b.Lost; float64(b.Lost) > mostLost*float64(all) {
			e.warn(warning.StacksLost, b.Mode+" "+b.Workload, "%s of the samples were lost: the machine was too busy to record them", warning.Said(verdict.Percent(float64(b.Lost)/float64(all))))
		}
	}
}

// crossed records the workloads with several numbers of flows or streams.
func (e *evaluation) crossed(in verdict.Input) {
	e.run.Concurrencies = nil
	for _, c := range plan.Concurrencies(e.in.Study) {
		if found, ok := verdict.Crossings(in, c); ok {
			e.run.Concurrencies = append(e.run.Concurrencies, found)
		}
	}
}

// The shares above which a breakdown has a warning.
const (
	mostUnknown = 0.15
	mostLost    = 0.05
)

// closedWorkloads are the workloads of a study without a schedule of requests.
func closedWorkloads(workloads []study.Workload) []string {
	var out []string
	for _, w := range workloads {
		if w.TransactionRate == 0 {
			out = append(out, w.ID)
		}
	}
	return out
}
