package evidence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/observe"
	"tare/internal/result"
)

// The CPU cost of a trial is the CPU time of the whole machine minus its idle baseline,
// from before the client dials until both endpoints have ended, without the slices of
// other modes. It is divided by the payload that arrived in the same period, warm-up and
// drain included.

// idlePeriod is one wait without traffic while all modes are set up: the CPU time of each
// machine, and how many CPUs other programs on this machine kept busy, nil if unknown.
type idlePeriod struct {
	block int
	// opens is set for the first wait of a later block: if the endpoints were recreated, the
	// kernel is still removing the old ones.
	opens   bool
	cpuTime CPUTime
	others  *float64
}

// ObserveIdle observes the wait before the given trials, which has no traffic.
func (o *Observer) ObserveIdle(ctx context.Context, trials []*Trial, wait func()) observe.Window {
	var modes []Mode
	for _, t := range trials {
		modes = append(modes, t.Mode)
	}
	session := o.watch.Start()
	worked := o.metered(ctx, o.readers(modes...), wait)
	w := session.Stop()
	o.warnMissing(w)
	block := trials[0].Planned.Block
	opens := len(o.idle) > 0 && o.idle[len(o.idle)-1].block != block
	o.idle = append(o.idle, idlePeriod{block, opens, worked, otherCPUs(w.Metrics)})
	o.forgetIdle(block)
	return w
}

// forgetIdle drops the waits before a block that its baselines do not need, because later
// ones are long enough: a run has thousands.
func (o *Observer) forgetIdle(block int) {
	later := map[string]time.Duration{}
	for i, p := range slices.Backward(o.idle) {
		needed := p.block == block
		for kernel, w := range p.cpuTime {
			needed = needed || later[kernel] < enoughIdle
			if !p.opens {
				later[kernel] += w.Length()
			}
		}
		if !needed {
			o.idle = slices.Delete(o.idle, i, i+1)
		}
	}
}

// otherCPUs is how many CPUs other programs kept busy, nil if unknown.
func otherCPUs(figures map[string]float64) *float64 {
	used, known := figures[result.MachineOthers]
	long := figures[result.MachineElapsed]
	if !known || !(long > 0) {
		return nil
	}
	share := used / long
	return &share
}

// A baseline needs at least leastIdle of idle time, because the kernel may count it in steps of
// 10 ms, which is 4 % of that, and uses enoughIdle if the run had as much: an idle machine
// has bursts of work, which a short baseline has too many or too few of.
const (
	leastIdle  = 250 * time.Millisecond
	enoughIdle = 10 * time.Second
)

// FirstWait is the minimum wait before a run's first trials, if the study has waits at all: their
// cost needs a baseline, too.
const FirstWait = 500 * time.Millisecond

// SettleTime returns how long to wait before the next trials of a study with such waits.
func (o *Observer) SettleTime(each time.Duration) time.Duration {
	if each > 0 && len(o.idle) == 0 {
		return max(each, FirstWait)
	}
	return each
}

// baseline is the mean number of busy CPUs of a machine without traffic, minus other
// programs if these are known. It uses the waits of this block so far and, if these are
// shorter than enoughIdle, those of earlier blocks; the wait that opens a block only if there are
// too few others. The error says why the baseline is unknown.
func (o *Observer) baseline(kernel string, block int) (float64, error) {
	all, others := o.idleTime(kernel, block, false)
	if all.Length() < leastIdle {
		all, others = o.idleTime(kernel, block, true)
	}
	if long := all.Length(); long < leastIdle {
		return 0, fmt.Errorf("the idle machine was observed for %s, but %s are required: set a longer settle time", long.Round(time.Millisecond), leastIdle)
	}
	busy, err := all.Busy()
	return max(0, busy-others) / all.Length().Seconds(), err
}

// idleTime returns the CPU time of a machine in the waits of its baseline, and the CPU seconds of
// other programs in it.
func (o *Observer) idleTime(kernel string, block int, opening bool) (all observe.CPUTime, others float64) {
	for _, p := range slices.Backward(o.idle) {
		w, seen := p.cpuTime[kernel]
		if !seen || p.opens && !opening || p.block != block && all.Length() >= enoughIdle {
			continue
		}
		all = all.Plus(w)
		if p.others != nil && kernel == LocalKernel {
			others += *p.others * w.Length().Seconds()
		}
	}
	return all, others
}

// CPUUse is the traffic that the CPU time of a trial was spent on.
type CPUUse struct {
	CPUTime        CPUTime
	Metric         string  // name of the cost metric
	Carried        float64 // in the unit of that metric
	TrafficSeconds float64 // seconds with traffic
	Backward       bool    // the server sends
}

// RecordCPUCost records the CPU time of the machines with a successful trial, and adds
// the cost metrics. If use is nil, it adds no cost.
func (o *Observer) RecordCPUCost(t *Trial, use *CPUUse) {
	if t.Failed() {
		return
	}
	t.kernels = o.endKernels(t.Mode)
	if t.Record.Machine == nil {
		t.Record.Machine = map[string]float64{}
	}
	for kernel, s := range t.CPUTime {
		at := t.at(kernel)
		for name, v := range s.Metrics() {
			t.setMachine(at+name, v)
		}
		if share, known := s.BusiestCPU(); known {
			t.setMachine(at+result.MachineFullest, share)
		}
		if idle, err := o.baseline(kernel, t.Planned.Block); err == nil {
			t.setMachine(at+machineCPUBaseline, idle)
		}
	}
	if use == nil {
		return
	}
	err := t.addCPUCost(*use, func(kernel string) (float64, error) {
		idle, err := o.baseline(kernel, t.Planned.Block)
		if others := otherCPUs(t.Window.Metrics); kernel == LocalKernel && others != nil {
			idle += *others
		}
		return idle, err
	})
	if err != nil && t.Planned.Block > 0 {
		if o.missingCPUCost++; o.missingCPUCost == 1 {
			o.firstMissing = fmt.Sprintf("%s %s in block %d: %v", t.Planned.Mode, t.Planned.Workload.ID, t.Planned.Block, err)
		}
	}
}

// machineCPUBaseline is the metric of how many CPUs are busy without traffic.
const machineCPUBaseline = "cpu_baseline"

// endKernels are the kernels of the machines of a mode's first pair of endpoints.
type endKernels struct{ client, server string }

func (o *Observer) endKernels(m Mode) (k endKernels) {
	path := m.Path()
	if path == nil || len(path.Pairs) == 0 {
		return k
	}
	for _, h := range path.Hosts {
		if h.Name == path.Pairs[0].Client.Host {
			k.client = o.kernelOf(h)
		}
		if h.Name == path.Pairs[0].Server.Host {
			k.server = o.kernelOf(h)
		}
	}
	return k
}

// at is the prefix of the metrics of one of several machines, empty if there is only one.
func (t *Trial) at(kernel string) string {
	switch {
	case len(t.CPUTime) < 2:
		return ""
	case kernel == t.kernels.client:
		return "client_"
	case kernel == t.kernels.server:
		return "server_"
	}
	return "between_"
}

// addCPUCost adds the CPU cost metrics: CPU seconds per unit of traffic, and the mean
// number of busy CPUs while there was traffic. idle returns the idle baseline in busy
// CPUs.
func (t *Trial) addCPUCost(use CPUUse, idle func(kernel string) (float64, error)) error {
	net, least, err := use.CPUTime.busySeconds(idle)
	switch {
	case err != nil:
		return err
	case net < least:
		return fmt.Errorf("the trial used %.3g CPU seconds above the idle baseline, but less than %.3g cannot be distinguished from 0", net, least)
	case !(use.Carried > 0) || !(use.TrafficSeconds > 0) || math.IsInf(use.Carried, 0):
		return errors.New("the carried traffic is unknown")
	}
	if t.Record.Metrics == nil {
		t.Record.Metrics = map[string]float64{}
	}
	t.Record.Metrics[use.Metric] = net / use.Carried
	if len(use.CPUTime) == 1 {
		t.Record.Metrics[result.CPUMachine] = net / use.TrafficSeconds
		return nil
	}
	for kernel, s := range use.CPUTime {
		own, _, err := CPUTime{kernel: s}.busySeconds(idle)
		if err != nil {
			return err
		}
		sends := use.Backward
		switch kernel {
		case t.kernels.client:
			sends = !sends
		case t.kernels.server:
		default:
			continue
		}
		metric := result.CPUReceiver
		if sends {
			metric = result.CPUSender
		}
		t.Record.Metrics[metric] = max(0, own) / use.TrafficSeconds
	}
	return nil
}
