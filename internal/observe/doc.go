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

// Collector reads one source of counters.
//
// Read is called on the edges of a timed window and must be cheap: well below a
// millisecond, few allocations, no network. Its error says what was attempted;
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
	Figure string
	Reason string
}

// Collectors is the registry: every collector there is, in the order in which
// they are read. procRoot is where procfs is mounted, normally /proc.
func Collectors(procRoot string) []Collector {
	return []Collector{
		NewCPU(procRoot),
	}
}
