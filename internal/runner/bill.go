package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tare/internal/observe"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// The CPU bill of a trial is what the whole machine worked, less what it works when
// idle, from before the client dials until both ends have ended, without the turns
// of others; what it is set against is the payload that arrived in that very time,
// warm-up and drain included. So neither can be longer than the other.

// idled is one wait without traffic while all modes stood: what each machine worked,
// and of that other programs on this one, as CPUs busy; nil where unknown.
type idled struct {
	block  int
	worked work
	others *float64
}

// idling is such a wait, before trials of these modes.
func (r *run) idling(ctx context.Context, lanes []*lane, wait func()) {
	var stages []*stage
	for _, l := range lanes {
		if !r.cfg.Ground.Local() && l.err == nil {
			// Agents that are not there yet would be started behind the wait. What keeps them
			// from it is told then.
			_ = l.stage.start(ctx, r.cfg.RunID, len(l.pairs))
		}
		stages = append(stages, l.stage)
	}
	session := r.watch.Start()
	worked := r.metered(ctx, r.readers(stages...), wait)
	w := session.Stop()
	r.missing(w)
	r.idle = append(r.idle, idled{lanes[0].Block, worked, othersOf(w.Figures)})
}

// othersOf is how many CPUs other programs kept busy, nil where unknown.
func othersOf(figures map[string]float64) *float64 {
	used, known := figures[figureOthers]
	long := figures[figureElapsed]
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
func (r *run) baseline(kernel string, block int) (float64, error) {
	var all observe.Spent
	var others float64 // CPU seconds
	for i := len(r.idle) - 1; i >= 0; i-- {
		w, seen := r.idle[i].worked[kernel]
		if !seen || r.idle[i].block != block && all.Length() >= leastIdle {
			continue
		}
		all = all.Plus(w)
		if o := r.idle[i].others; o != nil && kernel == here {
			others += *o * w.Length().Seconds()
		}
	}
	if long := all.Length(); long < leastIdle {
		return 0, fmt.Errorf("the machine was watched idle for %s, and %s are needed: let trials settle for longer", long.Round(time.Millisecond), leastIdle)
	}
	busy, err := all.Busy()
	return max(0, busy-others) / all.Length().Seconds(), err
}

// bill puts what the machines worked into the record of a lane's trial that went well,
// and into its metrics.
func (r *run) bill(l *lane) {
	if l.err != nil {
		return
	}
	l.kernels = r.endKernels(l.stage)
	if l.out.Machine == nil {
		l.out.Machine = map[string]float64{}
	}
	for kernel, s := range l.spent {
		at := l.at(kernel)
		for name, v := range s.Figures() {
			l.out.Machine[at+name] = v
		}
		if share, known := s.Fullest(); known {
			l.out.Machine[at+result.FigureFullest] = share
		}
		if idle, err := r.baseline(kernel, l.Block); err == nil {
			l.out.Machine[at+figureBaseline] = idle
		}
	}
	err := l.price(func(kernel string) (float64, error) {
		idle, err := r.baseline(kernel, l.Block)
		if others := othersOf(l.window.Figures); kernel == here && others != nil {
			idle += *others
		}
		return idle, err
	})
	if err != nil && !l.Pilot() {
		r.unbilled = append(r.unbilled, fmt.Sprintf("%s %s in block %d: %v", l.Mode, l.Workload.ID, l.Block, err))
	}
}

// endKernels are the machines of a mode's first pair of endpoints.
type endKernels struct{ client, server string }

func (r *run) endKernels(s *stage) (k endKernels) {
	if s == nil || s.path == nil || len(s.path.Pairs) == 0 {
		return k
	}
	for _, h := range s.path.Hosts {
		if h.Name == s.path.Pairs[0].Client.Host {
			k.client = r.kernelOf(h)
		}
		if h.Name == s.path.Pairs[0].Server.Host {
			k.server = r.kernelOf(h)
		}
	}
	return k
}

// at is what a figure of one of several machines begins with, empty where there is one.
func (l *lane) at(kernel string) string {
	switch {
	case len(l.spent) < 2:
		return ""
	case kernel == l.kernels.client:
		return "client_"
	case kernel == l.kernels.server:
		return "server_"
	}
	return "between_"
}

// price adds the metrics of the bill: CPU seconds by what was carried, and CPUs busy
// in the mean while there was traffic. idle is how many are busy all the same.
func (l *lane) price(idle func(kernel string) (float64, error)) error {
	spent, carried, flowing := l.spent, l.carried(), l.out.Traffic
	if l.search != nil {
		spent, carried, flowing = l.search.atThroughput()
		if carried == 0 {
			return nil // a search without an answer has no rate to tell the cost of
		}
	}
	net, least, err := spent.busy(idle)
	switch {
	case err != nil:
		return err
	case net < least:
		return fmt.Errorf("the machine worked %.3g CPU seconds more than without the trial, and less than %.3g cannot be told from nothing", net, least)
	case !(carried > 0) || !(flowing > 0) || math.IsInf(carried, 0):
		return errors.New("nothing is known of what was carried")
	}
	if l.out.Metrics == nil {
		l.out.Metrics = map[string]float64{}
	}
	l.out.Metrics[costOf(l.work.Spec().Metric)] = net / carried
	if len(spent) == 1 {
		l.out.Metrics[result.CPUMachine] = net / flowing
		return nil
	}
	for kernel, s := range spent {
		own, _, err := work{kernel: s}.busy(idle)
		if err != nil {
			return err
		}
		sends := l.Workload.Direction == study.Reverse
		switch kernel {
		case l.kernels.client:
			sends = !sends
		case l.kernels.server:
		default:
			continue
		}
		metric := result.CPUReceiver
		if sends {
			metric = result.CPUSender
		}
		l.out.Metrics[metric] = max(0, own) / flowing
	}
	return nil
}

// costOf is the metric of the cost of what a workload carries, by its primary metric.
func costOf(primary string) string {
	switch primary {
	case "transaction_rate":
		return result.CPUCostTransactions
	case "connection_rate":
		return result.CPUCostConnections
	}
	return result.CPUCost
}

// carried is what the trial carried at all, warm-up and drain included: Gbit received
// by both ends, or thousands of exchanges.
func (l *lane) carried() float64 {
	if costOf(l.work.Spec().Metric) == result.CPUCost {
		return gbit(l.client, l.server)
	}
	return float64(l.client.Messages) / 1000
}

// gbit is the payload that both ends received.
func gbit(client, server traffic.Report) float64 {
	return float64(client.Received+server.Received) * 8 / 1e9
}

// stepCost is what a step of a search cost.
type stepCost struct {
	load    float64 // datagrams/s
	gbit    float64
	flowing float64 // seconds
	spent   work
}

// atThroughput sums up the steps at the rate that the search found: for the first
// of its goals that has an answer. The cost of a Gbit at rates that lose much of it, or
// at which the path is half idle, is another one.
func (s *search) atThroughput() (spent work, carried, flowing float64) {
	for _, o := range s.state.Outcomes() {
		if o.Lower == nil {
			continue
		}
		for _, m := range s.costs {
			if m.load == *o.Lower {
				spent, carried, flowing = spent.plus(m.spent), carried+m.gbit, flowing+m.flowing
			}
		}
		break
	}
	return spent, carried, flowing
}

// whole is what all steps cost together.
func (s *search) whole() (all work) {
	for _, m := range s.costs {
		all = all.plus(m.spent)
	}
	return all
}
