package analysis

import (
	"slices"

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
	judged := Input{Modes: run.Modes, Workloads: names, Trials: in.Trials, Rule: RuleOf(s, in.Trials), Serial: SerialWorkloads(s)}
	warnings := e.judge(judged)
	e.passed()
	e.ruledOut()
	e.busyTurns()
	e.warnMissingCPUCost()
	e.breakdowns()
	e.run.ECDFs = ECDFs(run.Modes, names, in.Trials)
	e.crossed(judged)
	e.saturated()
	for _, w := range plan.Workloads(s) {
		e.compareEnds(w)
	}
	e.comparePaths()
	e.pressed()
	e.run.Scenarios = scenarios(s)
	e.run.Comparisons = Comparisons(judged, e.run.Scenarios, asked(s))
	e.run.CostByParts = CostsByPart(judged, s.CostByParts, e.run.Breakdowns)
	if e.run.CostByParts != nil {
		e.run.Rankings = nil // its modes are steps of one path, which are compared as such
	}
	e.run.Claims = EvaluateClaims(judged, s, e.run)
	agreements, disagreements := Agreements(run.Modes, verified(s), in.Trials, judged.Rule)
	e.run.Agreements = agreements
	e.run.OwnShares = OwnShares(judged, closedWorkloads(plan.Workloads(s)), e.run.Cells)
	e.run.Sensitivity = Sensitivity(judged, s)
	e.run.Losses = SumLosses(run.Modes, names, in.Trials)
	e.run.Attempts = SumAttempts(run.Modes, names, in.Trials)
	e.run.Requests = RequestsOf(plan.Workloads(s))
	e.run.TCPLimits = e.limitTCP()
	if e.run.CostByParts != nil {
		e.run.CostByParts.Explanations = e.explanations()
	}
	e.add(warnings)
	e.add(disagreements)
	return e.run
}

// SerialWorkloads are the workloads of a study with one flow, one pair and no schedule: Serial of an [Input].
func SerialWorkloads(s study.Study) []string {
	var out []string
	for _, w := range plan.Workloads(s) {
		if max(w.Flows, w.Streams, w.Pairs) <= 1 && w.TransactionRate == 0 {
			out = append(out, w.ID)
		}
	}
	return out
}

// EvaluateNumbers returns a run with what follows from values alone: the tally, cells,
// rankings, and the warnings about them.
func EvaluateNumbers(run result.Run, in Input) result.Run {
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
func (e *evaluation) judge(in Input) []result.Warning {
	e.run.Rankings = nil
	cells, warnings := judgeEach(in, func(f family) { e.run.Rankings = append(e.run.Rankings, f.rankings()...) })
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

// busyTurns warns of the CPU time that others used while modes were interleaved. It makes no
// trial invalid, but the values are not those of a quiet machine.
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
		var over, all int
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
		}
		if what.on && over > 0 {
			e.warn(warning.BusyTurns, "run", "in %d of %d interleaved trials %s more than %s of a CPU, up to %s: all modes shared it, so ratios are valid, "+
				"but values are lower than on a quiet machine and vary more", over, all, what.text, percent(what.most), warning.Said(percent(worst)))
		}
	}
}
