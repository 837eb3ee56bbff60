// Package observe reads counters of the machine before the connections of a trial are
// opened and after its last byte has arrived. The difference between the two readings
// belongs to the trial, including warm-up and drain.
//
// Each collector has its own file. A new one requires its file, its test and an entry in
// [Collectors]. A collector only reads: calculations are done by [Sample.Since], after the
// window has closed.
//
// A missing metric is absent, and a [Gap] says why. It is never 0 and never negative: a
// counter that decreased tells nothing about the window.
package observe

import (
	"maps"
	"slices"
)

// Collector reads one source of counters.
//
// Read is called just before the traffic of a trial begins and after it has ended, and must
// be cheap: milliseconds, no network. Its error says what was attempted; the source is then
// unavailable, and the run continues without it.
type Collector interface {
	// Name is short, lower case and unique. It is the prefix of each metric's name: cpu, as
	// in cpu_user.
	Name() string
	Read() (Sample, error)
}

// Sample is the result of one Read.
type Sample interface {
	// Since returns what happened between earlier, a sample of the same collector, and this
	// one: metrics by name, without the collector's prefix, and the gaps. The collector's
	// comment defines their names and units.
	Since(earlier Sample) (map[string]float64, []Gap)
}

// Gap is a metric that a pair of samples cannot provide. An empty Metric stands for all of
// them.
type Gap struct {
	Metric string
	Reason string
}

// Explainer is a Sample that can describe its metrics in words.
type Explainer interface {
	// Explain returns descriptions by metric name, as in Since. May be nil.
	Explain(earlier Sample) map[string]string
}

// Collectors returns every collector, the cheapest first. When a window opens they are read
// from last to first, and when it closes from first to last, so that no reading falls into
// the window of a cheaper one. procRoot is where procfs is mounted, normally /proc; own is
// what belongs to the run.
func Collectors(procRoot string, own Own) []Collector {
	return []Collector{
		NewClock(nil),
		NewCPU(procRoot),
		NewPressure(procRoot),
		NewMemory(procRoot, own.MemoryGroups),
		NewOtherProcesses(procRoot, own),
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
