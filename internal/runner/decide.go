package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
	"tare/internal/wording"
)

// decide makes the decisions of the run that precede its first block and apply to all modes alike:
// the congestion control and the rates, as far as the study leaves them open. A resumed run keeps
// those of its trials.
func (r *run) decide(ctx context.Context) error {
	r.chooseCongestion(ctx)
	asked := r.cfg.Study
	r.apply(asked)
	r.schedule.Begin()
	for _, w := range plan.Paced(r.cfg.Study) {
		if err := r.pace(ctx, r.cfg.Study, w); err != nil {
			return err
		}
	}
	r.out.Paces = append(r.out.Paces, plan.Limits(asked)...)
	for _, p := range r.out.Paces {
		r.warn(warning.Paced, p.Workload, "paced at %s: %s. Its goodput is not the limit of a path.", warning.Said(wording.Value(p.Rate, "bit/s")), wording.PaceReason(p))
		r.tell(live.Decision{Text: p.Workload + " is " + wording.Pace(p)})
	}
	r.apply(asked)
	return nil
}

// apply makes the study of the rest of the run the one that was asked for, with what is decided.
func (r *run) apply(asked study.Study) {
	r.cfg.Study = plan.Decided(asked, r.out)
	r.schedule.Decide(r.cfg.Study)
}

// pace finds the rate of a workload by a first trial of a baseline or, if that fails, of another
// mode. If all fail, the workload has no result: it may not run at any rate.
func (r *run) pace(ctx context.Context, s study.Study, w study.Workload) error {
	first := plan.FirstTrial(s, w)
	if mode, reached, ok := r.schedule.Reached(first.ID); ok {
		r.out.Paces = append(r.out.Paces, plan.PaceAt(s, w, mode, reached))
		return nil
	}
	for _, m := range r.paceModes() {
		if err := r.runGroup(ctx, []plan.Trial{{Mode: m.mode.ID, Workload: first, Paces: true}}); err != nil {
			return err
		}
		if mode, reached, ok := r.schedule.Reached(first.ID); ok {
			r.out.Paces = append(r.out.Paces, plan.PaceAt(s, w, mode, reached))
			return nil
		}
	}
	for _, m := range r.tested {
		for _, one := range plan.Workloads(study.Study{Workloads: []study.Workload{w}}) {
			if r.schedule.Drop(m.mode.ID, one.ID) && m.status == result.ModeMeasured {
				r.settleMode(m, result.ModeFailed, "no first trial showed a rate for "+w.Name())
			}
		}
	}
	r.warn(warning.WorkloadFailed, w.Name(), "no first trial showed at which rate it may run, so it has no result. Fix what the failed trials name, or measure at full rate (--full-rate).")
	return nil
}

// paceModes lists the modes in the order in which they have first trials: baselines between two
// hosts, because what is within one host is faster than what others share, other baselines, and
// the rest.
func (r *testbed) paceModes() []*modeUnderTest {
	rank := func(s *modeUnderTest) int {
		switch {
		case s.mode.Baseline != "":
			return 2
		case len(s.path.Hosts) < 2:
			return 1
		}
		return 0
	}
	modes := slices.DeleteFunc(slices.Clone(r.tested), func(s *modeUnderTest) bool { return s.status != result.ModeMeasured || s.path == nil })
	slices.SortStableFunc(modes, func(a, b *modeUnderTest) int { return rank(a) - rank(b) })
	return modes
}

// preferredCongestion is the congestion control of a run if every endpoint may set it, and
// commonCongestion is one that every kernel has and allows.
const (
	preferredCongestion = "cubic"
	commonCongestion    = "reno"
)

// chooseCongestion chooses the congestion control of all TCP trials in which the study leaves it
// open: one that every endpoint of the run may set.
func (r *run) chooseCongestion(ctx context.Context) {
	if !slices.ContainsFunc(r.cfg.Study.Workloads, func(w study.Workload) bool { return w.Congestion == study.AutoWord }) {
		return
	}
	if r.kept != "" {
		r.out.Congestion = &result.Congestion{Name: r.kept, Reason: "that of the trials before the run was resumed"}
		return
	}
	var ends []endCongestion
	for _, s := range r.tested {
		if s.status != result.ModeMeasured {
			continue
		}
		// The pairs of a mode are on the same hosts.
		for i, c := range []*agent.Client{s.agents[0].client, s.agents[0].server} {
			name := []string{"client", "server"}[i]
			may, err := c.Congestions(ctx)
			if err != nil {
				r.warn(warning.NotObserved, "run", "it is unknown which congestion controls the %s of %s may set: %v", name, s.mode.ID, err)
			}
			if may.Default != "" { // elsewhere the system chooses
				ends = append(ends, endCongestion{fmt.Sprintf("the %s of %s", name, s.mode.ID), may})
			}
		}
	}
	if r.out.Congestion = commonTo(ends); r.out.Congestion == nil {
		return
	}
	if c := r.out.Congestion; c.Name != preferredCongestion {
		r.warn(warning.CongestionChosen, "run", "the congestion control of all TCP trials is %s: %s. Rates may differ from those of %s, but ratios are valid. "+
			"To measure with %s, allow it on every machine (sysctl net.ipv4.tcp_allowed_congestion_control).", warning.Said(c.Name), c.Reason, preferredCongestion, preferredCongestion)
	}
}

// endCongestion is what an endpoint may set.
type endCongestion struct {
	at  string
	may wire.Congestions
}

// commonTo chooses a congestion control that all endpoints may set, nil if none tells.
func commonTo(ends []endCongestion) *result.Congestion {
	if len(ends) == 0 {
		return nil
	}
	refusing := func(name string) int {
		return slices.IndexFunc(ends, func(e endCongestion) bool { return !slices.Contains(e.may.Settable, name) })
	}
	i := refusing(preferredCongestion)
	if i < 0 {
		return &result.Congestion{Name: preferredCongestion, Reason: "every endpoint may set it"}
	}
	why := fmt.Sprintf("%s may set only %s", ends[i].at, strings.Join(ends[i].may.Settable, ", "))
	standard := ends[0].may.Default
	if !slices.ContainsFunc(ends, func(e endCongestion) bool { return e.may.Default != standard }) {
		return &result.Congestion{Name: standard, Reason: why + ", and this is the default of every endpoint"}
	}
	return &result.Congestion{Name: commonCongestion, Reason: why + ", and the endpoints have different defaults"}
}

// keptCongestion returns the congestion control that the trials of a resumed run have, of a workload
// for which the study leaves it open; empty if there is none.
func keptCongestion(s study.Study, earlier []result.Trial) string {
	for _, w := range plan.Workloads(s) {
		if w.Congestion != study.AutoWord {
			continue
		}
		for _, t := range earlier {
			if t.Workload == w.Name() && t.Status == result.TrialOK && t.Client != nil && t.Client.Congestion != "" {
				return t.Client.Congestion
			}
		}
	}
	return ""
}
