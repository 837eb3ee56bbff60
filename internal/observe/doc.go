// Package observe is what is read around a trial: counters of the machine, taken
// before its connections are made and again when its last byte has arrived. What
// lies between the two readings is the trial's, warm-up and drain included.
//
// There is one file a collector. A new one costs its file, its test and a line
// in [Collectors]. A collector reads and does nothing else: whatever takes time
// is left to [Sample.Since], which runs after the window has closed.
//
// A figure that cannot be had is absent and a [Gap] says why. It is never 0 and
// never negative: a counter that went backwards tells nothing about the window.
package observe

import (
	"maps"
	"slices"
)

// Collector reads one source of counters.
//
// Read is called just before the traffic of a trial begins and after it has ended,
// and must be cheap: milliseconds, no network. Its error says what was attempted;
// it means that the source is not there, and the run goes on without it.
type Collector interface {
	// Name is short, lower case and unlike any other collector's. It begins
	// the name of each figure: cpu, then cpu_user.
	Name() string
	Read() (Sample, error)
}

// Sample is what one Read found.
type Sample interface {
	// Since gives what happened from earlier, a sample of the same collector,
	// to this one: figures by name, without the collector's, and the gaps. The
	// collector's own comment fixes their names and units.
	Since(earlier Sample) (map[string]float64, []Gap)
}

// Gap is a figure that a pair of samples cannot give. An empty Figure stands for
// all of them.
type Gap struct {
	Metric string
	Reason string
}

// Explainer is a Sample that can say more of its figures in words.
type Explainer interface {
	// Explain has words for figures, by their names as in Since. May be nil.
	Explain(earlier Sample) map[string]string
}

// Collectors is the registry: every collector there is, the cheapest first. As a
// window opens they are read from the last to the first, and as it closes from the
// first to the last, so that no reading is in the window of a cheaper one. procRoot
// is where procfs is mounted, normally /proc; own is what belongs to the run.
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
