package analysis

import (
	"fmt"
	"slices"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// From where on pressure is worth a warning. None of it rules a trial out: what waits
// is counted with the ends of the trial in it, and how long a mode makes them wait
// may be what it costs.
const (
	muchMemoryStall = 0.01      // share of a trial's time
	muchCPUStall    = 0.25      // share of a workload's trials' time, at the median
	muchSwap        = 1 << 20   // bytes in a trial
	littleMemory    = 128 << 20 // bytes available
	fullTracking    = 0.9       // share of the room for tracked connections
)

// pressed warns of what the trials lacked: memory, CPUs, room for connections.
func (e *evaluation) pressed() {
	e.add(underPressure(e.in.Trials, measured(e.in.Study)))
}

// underPressure is what of memory, pressure and connection tracking is to be told of trials
// that count.
func underPressure(trials []result.Trial, workloads []study.Workload) []result.Warning {
	counted := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Status != result.TrialOK || t.Pilot })
	out := shortOfMemory(counted)
	for _, w := range workloads {
		if w.Placement == study.OneCore {
			continue // both ends share a CPU because they are told to
		}
		of := slices.DeleteFunc(slices.Clone(counted), func(t result.Trial) bool { return t.Workload != w.Name() })
		out = append(out, shortOfCPU(w.Name(), of)...)
	}
	return append(out, trackingFull(counted)...)
}

// tally counts the trials in which a figure is above a limit, and the most there was.
// All trials of one block and workload in turns have the same figure.
func tally(trials []result.Trial, figure func(result.Trial) (float64, bool), over float64) (n, known int, most float64) {
	for _, t := range trials {
		v, ok := figure(t)
		if !ok {
			continue
		}
		known++
		if v > over {
			n++
			most = max(most, v)
		}
	}
	return n, known, most
}

// machineFigure reads a figure of the machine.
func machineFigure(name string) func(result.Trial) (float64, bool) {
	return func(t result.Trial) (float64, bool) {
		v, ok := t.Machine[name]
		return v, ok
	}
}

// perTime is a figure in seconds as a share of the trial's time.
func perTime(name string) func(result.Trial) (float64, bool) {
	return func(t result.Trial) (float64, bool) {
		v, ok := t.Machine[name]
		long, apart := t.Machine[result.MachinePressureTime]
		if !apart {
			long = t.Machine[result.MachineElapsed]
		}
		return v / long, ok && long > 0
	}
}

func shortOfMemory(trials []result.Trial) (out []result.Warning) {
	warn := func(code warning.Code, format string, args ...any) {
		out = append(out, result.Warning{Code: string(code), Scope: "run", Text: fmt.Sprintf(format, args...)})
	}
	const mend = "end what else uses memory, or run where there is more"
	if n, known, most := tally(trials, perTime(result.MachinePressureMemory), muchMemoryStall); n > 0 {
		warn(warning.MemoryPressure, "in %d of %d trials programs waited for memory for more than %s of the time, up to %s: rates are lower and spread more than "+
			"the modes make them, and buffers may have been kept small; %s", n, known, percent(muchMemoryStall), percent(most), mend)
	}
	if n, known, most := tally(trials, machineFigure(result.MachineGroupStalls), 0); n > 0 {
		warn(warning.MemoryPressure, "in %d of %d trials a control group's limit on memory stood in the way, up to %.0f times: what sockets hold counts against it, "+
			"so that rates show the limit; a higher limit mends it", n, known, most)
	}
	below := func(t result.Trial) (float64, bool) {
		v, ok := t.Machine[result.MachineAvailable]
		return -v, ok
	}
	if n, known, _ := tally(trials, below, -littleMemory); n > 0 {
		warn(warning.MemoryPressure, "in %d of %d trials less than %d MiB of memory were available: the kernel keeps socket buffers small when memory is short; %s",
			n, known, littleMemory>>20, mend)
	}
	if n, known, most := tally(trials, machineFigure(result.MachineSwapped), muchSwap); n > 0 {
		warn(warning.Swapping, "in %d of %d trials memory was swapped to a disk or back, up to %.3g MiB: whoever is swapped out answers late, and the longest round trips are its; %s",
			n, known, most/(1<<20), mend)
	}
	for _, figure := range []string{result.MachineKills, result.MachineGroupKills} {
		if n, known, _ := tally(trials, machineFigure(figure), 0); n > 0 {
			warn(warning.OOMKill, "in %d of %d trials that count the kernel ended processes for lack of memory: none of the trial's own, but what was left had a machine "+
				"that was short of memory; %s", n, known, mend)
			break
		}
	}
	return out
}

func shortOfCPU(workload string, trials []result.Trial) []result.Warning {
	var shares []float64
	for _, t := range trials {
		if share, ok := perTime(result.MachinePressureCPU)(t); ok {
			shares = append(shares, share)
		}
	}
	if len(shares) == 0 {
		return nil
	}
	slices.Sort(shares)
	median := shares[len(shares)/2]
	if median <= muchCPUStall {
		return nil
	}
	return []result.Warning{{Code: string(warning.CPUPressure), Scope: workload, Text: fmt.Sprintf("in half of the trials programs that were ready to run waited for a CPU for %s of the time or more: "+
		"the ends, the packet work and whatever else runs here compete for the CPUs, so that rates show what the CPUs allow, and a mode that needs more of them "+
		"loses more than it would on a larger machine; fewer streams or threads, or more CPUs, mend it", percent(median))}}
}

func trackingFull(trials []result.Trial) (out []result.Warning) {
	type at struct{ mode, workload string }
	worst := map[at]float64{}
	var order []at
	for _, t := range trials {
		if v, ok := t.Machine[result.MachineTracked]; ok && v > fullTracking {
			k := at{t.Mode, t.Workload}
			if _, seen := worst[k]; !seen {
				order = append(order, k)
			}
			worst[k] = max(worst[k], v)
		}
	}
	for _, k := range order {
		out = append(out, result.Warning{Code: string(warning.ConntrackFull), Scope: k.mode + " " + k.workload, Text: fmt.Sprintf(
			"connection tracking was filled to %s when a trial ended: with no room left new connections, and datagrams of new flows, are dropped; "+
				"`sysctl -w net.netfilter.nf_conntrack_max=...` with a larger number mends it", percent(worst[k]))})
	}
	return out
}
