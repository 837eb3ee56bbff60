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

// Observe reads this machine's counters around what trials do together, so that
// they can be held to the rules. What bears on all of them alike is recorded
// with each; its own CPU time a trial has from [Trial.Meter].
func (o *Observer) Observe(trials []*Trial, do func()) {
	var w observe.Window
	o.processes(trials, func() {
		session := o.watch.Start()
		do()
		w = session.Stop()
	})
	o.missing(w)
	for _, t := range trials {
		t.Window, t.Shared = w, len(trials) > 1
		if t.Failed() {
			continue
		}
		t.Record.Machine = maps.Clone(w.Metrics)
		maps.DeleteFunc(t.Record.Machine, func(name string, _ float64) bool {
			return strings.HasPrefix(name, "cpu_") || ofPressure(name) && !t.Local()
		})
		if t.Shared {
			t.Record.Turns = len(trials)
		}
	}
}

// missing tells what could not be observed in a window.
func (o *Observer) missing(w observe.Window) {
	for _, u := range w.Missing {
		o.cfg.Warn(warning.NotObserved, "run", "%s", u)
	}
}

// figureEnds is the time between the readings of the ends' machines, which is longer
// than the trial's by what it takes to begin it and to prove its path from afar.
const figureEnds = "pressure_elapsed"

// ofPressure is whether a figure is one of memory and pressure, which are those of the
// machines that the ends of a trial are on.
func ofPressure(figure string) bool {
	return strings.HasPrefix(figure, "pressure_") || strings.HasPrefix(figure, "memory_")
}

// hostsRead is what agents read of the machines of hosts, by the hosts' names. This
// machine is not among them: the run's own collectors read it.
type hostsRead struct {
	of map[string]netstack.Reading
	at time.Time
}

// readHosts asks an agent on each host of a trial's path that is not this machine,
// outside of what is timed.
func (o *Observer) readHosts(ctx context.Context, t *Trial) (read hostsRead) {
	if ctx.Err() != nil || !o.counts() || t.Failed() || t.Mode.Path() == nil {
		return read
	}
	for _, h := range t.Mode.Path().Hosts {
		c := t.Mode.AgentOn(h.Name)
		if h.Local || c == nil { // agents that are not there are started with the trial
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

// pressure reads the machines of all trials' hosts, and returns what does so again when
// their traffic has ended and notes what lies between.
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

// pressure notes with a trial what the machines of its hosts were short of between two
// readings: of several what was worse. Two hosts on one kernel are one machine.
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
		t.figure(name, v)
	}
	t.figure(figureEnds, after.at.Sub(before.at).Seconds())
}

// processes reads the process table around what the trials do, and records with each what
// the processes of its mode spent. Those of a mode that waits for its turn rest, and so
// one reading before all turns and one after them are enough. It is slow beside the
// other readings, and outside of them.
func (o *Observer) processes(trials []*Trial, do func()) {
	belonging, some := make([]observe.ProcessSet, len(trials)), false
	for i, t := range trials {
		belonging[i] = t.belonging()
		some = some || len(belonging[i].Roots)+len(belonging[i].Programs) > 0
	}
	if !some {
		do()
		return
	}
	before, err := observe.ReadTable("/proc")
	do()
	if err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read the CPU time of the modes' own processes: %v", err)
		return
	}
	after, err := observe.ReadTable("/proc")
	if err != nil {
		o.cfg.Warn(warning.NotObserved, "run", "cannot read the CPU time of the modes' own processes: %v", err)
		return
	}
	for i, t := range trials {
		if !t.Failed() {
			t.Record.Processes = byProgram(after.CPUTime(before, belonging[i]))
		}
	}
}

// belonging is which processes are the mode's own. Of an engine that exists, which is
// others' too, it is its programs, whatever they do.
func (t *Trial) belonging() observe.ProcessSet {
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

// byProgram lists what programs spent, the most first.
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
