package runner

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/observe"
	"tare/internal/observe/netstack"
	"tare/internal/study"
)

// figureEnds is the time between the readings of the ends' machines, which is longer
// than the trial's by what it takes to begin it and to prove its path from afar.
const figureEnds = "pressure_elapsed"

// strained is whether a figure is one of memory and pressure, which are those of the
// machines that the ends of a trial are on.
func strained(figure string) bool {
	return strings.HasPrefix(figure, "pressure_") || strings.HasPrefix(figure, "memory_")
}

// hostsRead is what agents read of the machines of hosts, by the hosts' names. This
// machine is not among them: the run's own collectors read it.
type hostsRead struct {
	of map[string]netstack.Reading
	at time.Time
}

// readHosts asks an agent on each host of a lane's path that is not this machine,
// outside of what is timed.
func (r *run) readHosts(ctx context.Context, l *lane) (read hostsRead) {
	if ctx.Err() != nil || r.cfg.Study.Evidence.Counters == study.Off || l.err != nil || l.stage.path == nil {
		return read
	}
	for _, h := range l.stage.path.Hosts {
		c := l.stage.agentOn(h.Name)
		if h.Local || c == nil { // agents that are not there are started with the trial
			continue
		}
		if read.at.IsZero() {
			read = hostsRead{map[string]netstack.Reading{}, time.Now()}
		}
		got, err := c.Read(ctx)
		if err != nil {
			r.warn("not_observed", "run", "memory and pressure of host %s: %v", h.Name, err)
			continue
		}
		read.of[h.Name] = got
	}
	return read
}

// strains reads the machines of all lanes' hosts, and returns what does so again when
// their traffic has ended and notes what lies between.
func (r *run) strains(ctx context.Context, lanes []*lane) (end func()) {
	before := make([]hostsRead, len(lanes))
	for i, l := range lanes {
		before[i] = r.readHosts(ctx, l)
	}
	return func() {
		for i, l := range lanes {
			if !before[i].at.IsZero() {
				l.strain(before[i], r.readHosts(ctx, l))
			}
		}
	}
}

// strain notes with a lane what the machines of its hosts were short of between two
// readings: of several what was worse. Two hosts on one kernel are one machine.
func (l *lane) strain(before, after hostsRead) {
	found, seen := map[string]float64{}, map[string]bool{}
	for _, host := range slices.Sorted(maps.Keys(after.of)) {
		is, was := after.of[host], before.of[host]
		if was.Strain == nil || is.Boot != "" && seen[is.Boot] {
			continue
		}
		seen[is.Boot] = true
		found = observe.Worse(found, observe.Strain(is.Strain).Since(was.Strain))
	}
	if len(found) == 0 {
		return
	}
	if l.out.Machine == nil {
		l.out.Machine = map[string]float64{}
	}
	if l.stage != nil && l.stage.path != nil && anyLocal(l.stage.path.Hosts) {
		found = observe.Worse(found, l.out.Machine)
	}
	maps.Copy(l.out.Machine, found)
	l.out.Machine[figureEnds] = after.at.Sub(before.at).Seconds()
}
