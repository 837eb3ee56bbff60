package runner

import (
	"maps"
	"slices"

	"tare/internal/facts"
	"tare/internal/observe"
	"tare/internal/study"
)

// collectors are those of a run: what is its own is known by this process and by
// the run's id. An engine that exists works for the run, too.
func collectors(cfg Config, pid int) []observe.Collector {
	own := observe.Own{PID: pid, Run: cfg.Claim.ID, MemoryGroups: facts.MemoryGroups("/")}
	if cfg.Study.Engines().Existing() {
		own.Programs = daemons()
	}
	all := observe.Collectors("/proc", own)
	if cfg.Study.Evidence.Counters == study.Off {
		all = slices.DeleteFunc(all, func(c observe.Collector) bool { return slices.Contains([]string{"pressure", "memory"}, c.Name()) })
	}
	return all
}

// daemons are the programs of an engine that carry or serve the run's traffic, by
// the name that the kernel keeps, of 15 letters. The containers below are not named.
func daemons() []string {
	return []string{"dockerd", "docker-proxy", "containerd", "containerd-shim", "rootlesskit", "rootlesskit-doc", "slirp4netns", "vpnkit"}
}

// around reads the machine's counters around what the lanes do together, so that
// their trials can be held to the rules. A lane that was alone has all figures; what
// several did together is recorded with each of them only where it bears on all alike.
func (r *run) around(lanes []*lane, do func()) {
	session := r.watch.Start()
	do()
	w := session.Stop()
	for _, u := range w.Missing {
		r.warn("not_observed", "run", "%s", u)
	}
	for _, l := range lanes {
		l.window, l.shared = w, len(lanes) > 1
		if l.err != nil {
			continue
		}
		l.out.Machine = maps.Clone(w.Figures)
		if l.shared {
			maps.DeleteFunc(l.out.Machine, func(name string, _ float64) bool { return !slices.Contains(common(), name) })
		}
	}
}

// common are the figures that bear on all trials of a group alike: those of what is
// not the run's own, and those that nobody can be said to own.
func common() []string {
	return append([]string{figureSteal, figureOthers, figureElapsed, figureStep}, pressures()...)
}

// The figures that the rules go by; see package observe.
const (
	figureSteal   = "cpu_steal"
	figureOthers  = "others_cpu"
	figureElapsed = "clock_elapsed"
	figureStep    = "clock_step"
)

// elsewhere is whether the ends run on machines of which nothing is read here.
func (r *run) elsewhere() bool {
	return r.cfg.Study.Engines().Existing() && len(r.cfg.CPUs) == 0
}
