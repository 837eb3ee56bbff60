package runner

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// loadBeside is the pair of endpoints whose stream fills the path beside a trial, nil for a workload without a load. It is the pair of
// the path after those of the trial. Where there are other CPUs than those of the trial's endpoints, its endpoints are on one of these, so that the
// trial waits for the network and not for a CPU.
func (r *measurement) loadBeside(tr *trialRun, limit time.Duration) (*pair, error) {
	w, ok := plan.LoadBeside(tr.Workload)
	if !ok {
		return nil, nil
	}
	n := len(tr.pairs)
	if n >= len(tr.tested.path.Pairs) {
		return nil, fmt.Errorf("the mode has no further pair of endpoints for the %s beside it", w.Kind)
	}
	ends, first := tr.tested.path.Pairs[n], tr.pairs[0]
	client, server := placeOn(without(r.cfg.Machines, first.clientSide.CPU, first.serverSide.CPU), w.Placement, ends)
	return r.pair(traffic.ParamsOf(w), ends, limit, client, server)
}

// whyNot says why the mode cannot carry a workload, or the load beside it; empty if it can, and for a workload that is not known, whose trials
// say so.
func (s *modeUnderTest) whyNot(w study.Workload) string {
	made, err := workloads.Named(w.Kind)
	if err != nil {
		return ""
	}
	if why := s.mode.WhyNot(w, made.Spec(), s.study.With); why != "" {
		return why
	}
	if w.Event != "" && s.path != nil {
		if _, err := s.path.EventNamed(w.Event); err != nil {
			return err.Error()
		}
	}
	if load, ok := plan.LoadBeside(w); ok {
		if why := s.whyNot(load); why != "" {
			return fmt.Sprintf("of its load, %s, %s", load.Kind, why)
		}
	}
	return ""
}

// without are machines without the CPUs that others use, where any is left.
func without(h driver.HostInfo, used ...int) driver.HostInfo {
	left := func(cpus []int) []int {
		free := slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return slices.Contains(used, cpu) })
		if len(free) == 0 {
			return cpus
		}
		return free
	}
	h.CPUs = left(h.CPUs)
	hosts := map[string][]int{}
	for host, cpus := range h.HostCPUs {
		hosts[host] = left(cpus)
	}
	h.HostCPUs = hosts
	return h
}

// judgeLoad checks what the load carried, and adds its goodput to the trial's metrics.
func (tr *trialRun) judgeLoad(metrics map[string]float64) error {
	if tr.load == nil {
		return nil
	}
	p, client, server := tr.load.clientSide, tr.load.client, tr.load.server
	stream, err := workloads.Named(p.Kind)
	if err != nil {
		return err
	}
	own, _ := stream.Metrics(p, client, server)
	err = cmp.Or(checkMetrics(own, client, server), checkTraffic(p, own, client, server), checkElapsed(tr.elapsed, client, server), checkRate(tr.underlay, 1, p, tr.out.Counters, client, server))
	if err != nil {
		return tr.pairError(len(tr.pairs), err)
	}
	metrics[result.LoadGoodput] = own["goodput"]
	return nil
}
