package runner

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/facts"
	"tare/internal/observe"
	"tare/internal/result"
	"tare/internal/study"
)

// collectors are those of a run: what is its own is known by this process and by
// the run's id. An engine that exists works for the run, too.
func collectors(cfg Config, pid int) []observe.Collector {
	own := ownOf(cfg, pid)
	own.MemoryGroups = facts.MemoryGroups("/")
	all := observe.Collectors("/proc", own)
	if cfg.Study.Evidence.Counters == study.Off {
		all = slices.DeleteFunc(all, func(c observe.Collector) bool { return slices.Contains([]string{"pressure", "memory"}, c.Name()) })
	}
	return all
}

// around reads the machine's counters around what the lanes do together, so that
// their trials can be held to the rules. What bears on all of them alike is recorded
// with each; its own CPU time a lane has from [run.metered].
func (r *run) around(lanes []*lane, do func()) {
	var w observe.Window
	r.manned(lanes, func() {
		session := r.watch.Start()
		do()
		w = session.Stop()
	})
	r.missing(w)
	for _, l := range lanes {
		l.window, l.shared = w, len(lanes) > 1
		if l.err != nil {
			continue
		}
		l.out.Machine = maps.Clone(w.Figures)
		maps.DeleteFunc(l.out.Machine, func(name string, _ float64) bool {
			return strings.HasPrefix(name, "cpu_") || strained(name) && !anyLocal(r.hostsOf(l.stage))
		})
		if l.shared {
			l.out.Turns = len(lanes)
		}
	}
}

// missing tells what could not be observed in a window.
func (r *run) missing(w observe.Window) {
	for _, u := range w.Missing {
		r.warn("not_observed", "run", "%s", u)
	}
}

// The figures that the rules go by; see package observe.
const (
	figureSteal    = result.FigureSteal
	figureOthers   = result.FigureOthers
	figureElapsed  = result.FigureElapsed
	figureBaseline = "cpu_baseline"
	figureTime     = result.FigureTime // of a trial's own time, of which figureSteal is recorded
	figureStep     = "clock_step"
)

// anyLocal is whether one of the hosts is this machine, whose counters are then those of
// the trial.
func anyLocal(hosts []driver.Host) bool {
	return slices.ContainsFunc(hosts, func(h driver.Host) bool { return h.Local })
}
