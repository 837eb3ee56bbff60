package evidence

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/observe"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/warning"
)

// Observe reads this machine's counters around trials that run together, to check them
// against the rules. What affects all of them is recorded with each; the CPU time of one
// trial comes from [Trial.Meter].
func (o *Observer) Observe(trials []*Trial, do func()) {
	var w observe.Window
	o.processes(trials, func() {
		session := o.watch.Start()
		do()
		w = session.Stop()
	})
	o.warnMissing(w)
	for _, t := range trials {
		t.Window, t.Shared = w, len(trials) > 1
		if t.Failed() {
			continue
		}
		t.Record.Machine = maps.Clone(w.Metrics)
		maps.DeleteFunc(t.Record.Machine, func(name string, _ float64) bool {
			return strings.HasPrefix(name, "cpu_") || isPressure(name) && !t.Local()
		})
		if t.Shared {
			t.Record.Turns = len(trials)
		}
	}
}

// warnMissing warns about what could not be observed in a window.
func (o *Observer) warnMissing(w observe.Window) {
	for _, u := range w.Missing {
		o.cfg.Warn(warning.NotObserved, "run", "%s", u)
	}
}

// machinePressureElapsed is the time between the readings of the endpoints' machines. It
// is longer than the trial by the time to begin it and to prove its path remotely.
const machinePressureElapsed = "pressure_elapsed"

// isPressure reports whether a metric is about memory or pressure, which are read from
// the machines of the endpoints.
func isPressure(figure string) bool {
	return strings.HasPrefix(figure, "pressure_") || strings.HasPrefix(figure, "memory_")
}

// hostsRead is what agents read of the machines of hosts, by host name. This machine is
// not included: the run's own collectors read it.
type hostsRead struct {
	of map[string]netstack.Reading
	at time.Time
}

// readHosts asks an agent on each host of a trial's path that is not this machine,
// outside the timed window.
func (o *Observer) readHosts(ctx context.Context, t *Trial) (read hostsRead) {
	if ctx.Err() != nil || !o.counts() || t.Failed() || t.Mode.Path() == nil {
		return read
	}
	for _, h := range t.Mode.Path().Hosts {
		c := t.Mode.AgentOn(h.Name)
		if h.Local || c == nil { // missing agents start with the trial
			continue
		}
		if read.at.IsZero() {
			read = hostsRead{map[string]netstack.Reading{}, time.Now()}
		}
		got, err := c.Read(ctx)
		if err != nil {
			o.cfg.Warn(warning.NotObserved, "run", "cannot read memory and pressure of host %s: %v", h.Name, err)
			continue
		}
		read.of[h.Name] = got
	}
	return read
}

// pressure reads the machines of all trials' hosts. It returns a function that reads them
// again after the traffic and records the difference.
func (o *Observer) pressure(ctx context.Context, trials []*Trial) (end func()) {
	before := make([]hostsRead, len(trials))
	for i, t := range trials {
		before[i] = o.readHosts(ctx, t)
	}
	return func() {
		for i, t := range trials {
			if !before[i].at.IsZero() {
				t.pressure(before[i], o.readHosts(ctx, t))
			}
		}
	}
}

// pressure records the pressure on a trial's machines between two readings: the worst
// value of several machines. Two hosts on one kernel are one machine.
func (t *Trial) pressure(before, after hostsRead) {
	found, seen := map[string]float64{}, map[string]bool{}
	for _, host := range slices.Sorted(maps.Keys(after.of)) {
		is, was := after.of[host], before.of[host]
		if was.Pressure == nil || is.Boot != "" && seen[is.Boot] {
			continue
		}
		seen[is.Boot] = true
		found = observe.MergeHosts(found, observe.PressureFiles(is.Pressure).Since(was.Pressure))
	}
	if len(found) == 0 {
		return
	}
	if p := t.Mode.Path(); p != nil && anyLocal(p.Hosts) {
		found = observe.MergeHosts(found, t.Record.Machine)
	}
	for name, v := range found {
		t.setMachine(name, v)
	}
	t.setMachine(machinePressureElapsed, after.at.Sub(before.at).Seconds())
}

// processes reads the process table before and after the trials, and records for each
// trial the CPU time of its mode's processes, and their memory after it. The processes of a mode that waits for its
// slice are idle, so one reading before and one after all slices are enough. It is slow,
// and runs outside the other readings.
func (o *Observer) processes(trials []*Trial, do func()) {
	belonging, some := make([]observe.ProcessSet, len(trials)), false
	for i, t := range trials {
		belonging[i] = t.modeProcesses()
		some = some || len(belonging[i].Roots)+len(belonging[i].Programs) > 0
	}
	if !some {
		do()
		return
	}
	before, err := observe.ReadTable(o.cfg.Proc)
	do()
	if err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read the CPU time of the modes' own processes: %v", err)
		return
	}
	after, err := observe.ReadTable(o.cfg.Proc)
	if err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read the CPU time of the modes' own processes: %v", err)
		return
	}
	for i, t := range trials {
		if !t.Failed() {
			t.Record.Processes = byProgram(after.CPUTime(before, belonging[i]))
			if bytes, known := after.Memory(belonging[i]); known {
				if t.Record.Metrics == nil {
					t.Record.Metrics = map[string]float64{}
				}
				t.Record.Metrics[result.Memory] = bytes
			}
		}
	}
}

// modeProcesses defines which processes belong to the mode. For an existing engine, which
// others use too, these are all its processes.
func (t *Trial) modeProcesses() observe.ProcessSet {
	var b observe.ProcessSet
	if t.Failed() {
		return b
	}
	path := t.Mode.Path()
	if path.Processes != nil {
		b.Roots = path.Processes()
	}
	b.Programs = driver.HostInfo{Hosts: path.Hosts}.Programs()
	return b
}

// byProgram lists the CPU time of programs, the highest first.
func byProgram(spent map[string]float64) []result.ProcessCPU {
	var out []result.ProcessCPU
	for name, v := range spent {
		out = append(out, result.ProcessCPU{Name: name, CPU: v})
	}
	slices.SortFunc(out, func(a, b result.ProcessCPU) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name))
	})
	return out
}
