package evidence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tare/internal/observe"
	"tare/internal/result"
)

// The CPU bill of a trial is what the whole machine worked, less what it works when
// idle, from before the client dials until both ends have ended, without the turns
// of others; what it is set against is the payload that arrived in that very time,
// warm-up and drain included. So neither can be longer than the other.

// idled is one wait without traffic while all modes stood: what each machine worked,
// and of that other programs on this one, as CPUs busy; nil where unknown.
type idled struct {
	block  int
	worked CPUTime
	others *float64
}

// ObserveIdle is such a wait, before these trials.
func (o *Observer) ObserveIdle(ctx context.Context, trials []*Trial, wait func()) {
	var modes []Mode
	for _, t := range trials {
		modes = append(modes, t.Mode)
	}
	session := o.watch.Start()
	worked := o.metered(ctx, o.readers(modes...), wait)
	w := session.Stop()
	o.missing(w)
	o.idle = append(o.idle, idled{trials[0].Planned.Block, worked, othersOf(w.Metrics)})
}

// othersOf is how many CPUs other programs kept busy, nil where unknown.
func othersOf(figures map[string]float64) *float64 {
	used, known := figures[result.MachineOthers]
	long := figures[result.MachineElapsed]
	if !known || !(long > 0) {
		return nil
	}
	share := used / long
	return &share
}

// leastIdle is the shortest time that tells what an idle machine works: of 10 ms of
// idle time, the step in which the kernel tells it, it is 4 %.
const leastIdle = 250 * time.Millisecond

// baseline is how many CPUs of a machine are busy in the mean when there is no traffic, without
// those of other programs where that is known: in the waits of this block so far and,
// where these are shorter than leastIdle, in those of earlier blocks. Error: why that is
// not known.
func (o *Observer) baseline(kernel string, block int) (float64, error) {
	var all observe.CPUTime
	var others float64 // CPU seconds
	for i := len(o.idle) - 1; i >= 0; i-- {
		w, seen := o.idle[i].worked[kernel]
		if !seen || o.idle[i].block != block && all.Length() >= leastIdle {
			continue
		}
		all = all.Plus(w)
		if share := o.idle[i].others; share != nil && kernel == LocalKernel {
			others += *share * w.Length().Seconds()
		}
	}
	if long := all.Length(); long < leastIdle {
		return 0, fmt.Errorf("the machine was watched idle for %s, and %s are needed: let trials settle for longer", long.Round(time.Millisecond), leastIdle)
	}
	busy, err := all.Busy()
	return max(0, busy-others) / all.Length().Seconds(), err
}

// CPUUse is what a trial spent CPU time on.
type CPUUse struct {
	CPUTime        CPUTime
	Metric         string  // of the cost of what was carried
	Carried        float64 // in the unit of that metric
	TrafficSeconds float64 // seconds with traffic
	Backward       bool    // the server is the one that sends
}

// RecordCPUCost puts what the machines worked into the record of a trial that went well, and into
// its metrics what that cost; of nil there is nothing to tell the cost of.
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
			t.figure(at+name, v)
		}
		if share, known := s.BusiestCPU(); known {
			t.figure(at+result.MachineFullest, share)
		}
		if idle, err := o.baseline(kernel, t.Planned.Block); err == nil {
			t.figure(at+figureBaseline, idle)
		}
	}
	if use == nil {
		return
	}
	err := t.addCPUCost(*use, func(kernel string) (float64, error) {
		idle, err := o.baseline(kernel, t.Planned.Block)
		if others := othersOf(t.Window.Metrics); kernel == LocalKernel && others != nil {
			idle += *others
		}
		return idle, err
	})
	if err != nil && !t.Planned.Pilot() {
		o.unbilled = append(o.unbilled, fmt.Sprintf("%s %s in block %d: %v", t.Planned.Mode, t.Planned.Workload.ID, t.Planned.Block, err))
	}
}

// figureBaseline is how many CPUs are busy without traffic.
const figureBaseline = "cpu_baseline"

// endKernels are the machines of a mode's first pair of endpoints.
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

// at is what a figure of one of several machines begins with, empty where there is one.
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

// addCPUCost adds the metrics of the bill: CPU seconds by what was carried, and CPUs busy
// in the mean while there was traffic. idle is how many are busy all the same.
func (t *Trial) addCPUCost(use CPUUse, idle func(kernel string) (float64, error)) error {
	net, least, err := use.CPUTime.busy(idle)
	switch {
	case err != nil:
		return err
	case net < least:
		return fmt.Errorf("the machine worked %.3g CPU seconds more than without the trial, and less than %.3g cannot be told from nothing", net, least)
	case !(use.Carried > 0) || !(use.TrafficSeconds > 0) || math.IsInf(use.Carried, 0):
		return errors.New("nothing is known of what was carried")
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
		own, _, err := CPUTime{kernel: s}.busy(idle)
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
