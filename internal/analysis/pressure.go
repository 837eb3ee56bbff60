package analysis

import (
	"slices"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// The limits above which there is a warning about pressure. Pressure does not make a trial
// invalid: it includes client and server, and how long a mode makes them wait may be its
// cost.
const (
	muchMemoryStall = 0.01      // share of a trial's time
	muchCPUStall    = 0.25      // share of a workload's trials' time, at the median
	muchSwap        = 1 << 20   // bytes in a trial
	littleMemory    = 128 << 20 // bytes available
	fullTracking    = 0.9       // share of the connection tracking table
)

// pressed warns of a lack of memory, CPUs or connection tracking entries during trials.
func (e *evaluation) pressed() {
	e.add(underPressure(e.in.Trials, measured(e.in.Study)))
}

// underPressure are the warnings about memory, CPU pressure and connection tracking in valid
// trials.
func underPressure(trials []result.Trial, workloads []study.Workload) []result.Warning {
	counted := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Status != result.TrialOK || t.Pilot || t.Paces })
	out := shortOfMemory(counted)
	for _, w := range workloads {
		if w.Placement == study.OneCore {
			continue // client and server share a CPU because the study says so
		}
		of := slices.DeleteFunc(slices.Clone(counted), func(t result.Trial) bool { return t.Workload != w.Name() })
		out = append(out, shortOfCPU(w.Name(), of)...)
	}
	return append(out, trackingFull(counted)...)
}

// tally counts the trials in which a value is above a limit, those in which it is known,
// and returns the largest. Interleaved trials of one block and workload have the same value.
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

// machineFigure reads a machine value of a trial.
func machineFigure(name string) func(result.Trial) (float64, bool) {
	return func(t result.Trial) (float64, bool) {
		v, ok := t.Machine[name]
		return v, ok
	}
}

// perTime is a value in seconds as a share of the trial's time.
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
		out = append(out, warning.New(code, "run", format, args...))
	}
	const fix = "Stop other programs that use memory, or use a machine with more."
	if n, known, most := tally(trials, perTime(result.MachinePressureMemory), muchMemoryStall); n > 0 {
		warn(warning.MemoryPressure, "in %d of %d trials programs waited for memory for more than %s of the time, up to %s: rates are lower and vary more, "+
			"and buffers may be small. %s", n, known, verdict.Percent(muchMemoryStall), verdict.Percent(most), fix)
	}
	if n, known, most := tally(trials, machineFigure(result.MachineGroupStalls), 0); n > 0 {
		warn(warning.MemoryPressure, "in %d of %d trials a control group reached its memory limit, up to %.0f times: socket buffers count against it, "+
			"so rates show the limit. Set a higher limit.", n, known, most)
	}
	below := func(t result.Trial) (float64, bool) {
		v, ok := t.Machine[result.MachineAvailable]
		return -v, ok
	}
	if n, known, _ := tally(trials, below, -littleMemory); n > 0 {
		warn(warning.MemoryPressure, "in %d of %d trials less than %d MiB of memory were available: the kernel keeps socket buffers small when memory is short. %s",
			n, known, littleMemory>>20, fix)
	}
	if n, known, most := tally(trials, machineFigure(result.MachineSwapped), muchSwap); n > 0 {
		warn(warning.Swapping, "in %d of %d trials memory was swapped, up to %.3g MiB: a program that is swapped out answers late, which makes the longest round trips. %s",
			n, known, most/(1<<20), fix)
	}
	for _, figure := range []string{result.MachineKills, result.MachineGroupKills} {
		if n, known, _ := tally(trials, machineFigure(figure), 0); n > 0 {
			warn(warning.OOMKill, "in %d of %d valid trials the kernel killed processes for lack of memory: none of the trial's own, but memory was short. %s",
				n, known, fix)
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
	return []result.Warning{warning.New(warning.CPUPressure, workload, "in half of the trials runnable programs waited for a CPU for %s of the time or more: "+
		"rates show what the CPUs allow, and expensive modes lose more than on a larger machine. Use fewer streams or threads, or more CPUs.", warning.Said(verdict.Percent(median)))}
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
		out = append(out, warning.New(warning.ConntrackFull, k.mode+" "+k.workload,
			"connection tracking was %s full when a trial ended: when it is full, new connections and datagrams of new flows are dropped. "+
				"Raise the limit with `sysctl -w net.netfilter.nf_conntrack_max=...`.", warning.Said(verdict.Percent(worst[k]))))
	}
	return out
}
