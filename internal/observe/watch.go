package observe

import (
	"cmp"
	"fmt"
	"slices"
)

// Unavailable is a metric of a collector that a window lacks, and why. An empty Metric
// stands for all metrics of the collector.
type Unavailable struct {
	Collector string
	Metric    string // full name, such as cpu_idle
	Reason    string
}

// String returns one line for a log or a warning.
func (u Unavailable) String() string {
	if u.Metric == "" {
		return fmt.Sprintf("collector %s: %s", u.Collector, u.Reason)
	}
	return fmt.Sprintf("%s: %s", u.Metric, u.Reason)
}

// CollectorSet opens windows on a set of collectors. It exists for a whole run, so that a
// collector that is always missing is reported once and not for every trial. Neither it nor
// its sessions are safe for concurrent use.
type CollectorSet struct {
	collectors []Collector
	reported   map[Unavailable]bool
}

// NewCollectorSet creates a CollectorSet with collectors, read in the given order.
func NewCollectorSet(collectors []Collector) *CollectorSet {
	return &CollectorSet{collectors: collectors, reported: make(map[Unavailable]bool)}
}

// Window is the result of a closed window.
type Window struct {
	Metrics map[string]float64 // by full name (cpu_user), in the collector's units
	Notes   map[string]string  // description of a metric by its full name
	Missing []Unavailable
}

// Session is one open window.
type Session struct {
	watch *CollectorSet
	start []reading
}

// reading is the result of a collector: a sample or an error.
type reading struct {
	sample Sample
	err    error
}

// Start opens a window. It cannot fail: a collector that fails is omitted from this window
// and reported by Stop.
func (w *CollectorSet) Start() *Session {
	s := &Session{watch: w, start: make([]reading, len(w.collectors))}
	for i, c := range slices.Backward(w.collectors) {
		s.start[i].sample, s.start[i].err = c.Read()
	}
	return s
}

// Stop closes the window and returns its metrics and what is missing. An unreadable
// collector is reported once in a CollectorSet for each reason; a single missing metric is
// reported each time, because it concerns only this window.
func (s *Session) Stop() Window {
	// All reads come before any calculation, so that the work of one collector does not
	// fall into the window of another.
	end := make([]reading, len(s.start))
	for i, c := range s.watch.collectors {
		if s.start[i].err == nil {
			end[i].sample, end[i].err = c.Read()
		}
	}
	out := Window{Metrics: map[string]float64{}, Notes: map[string]string{}}
	for i, c := range s.watch.collectors {
		if err := cmp.Or(s.start[i].err, end[i].err); err != nil {
			u := Unavailable{Collector: c.Name(), Reason: err.Error()}
			if !s.watch.reported[u] {
				s.watch.reported[u] = true
				out.Missing = append(out.Missing, u)
			}
			continue
		}
		out.add(c.Name(), s.start[i].sample, end[i].sample)
	}
	return out
}

// add adds the result of a collector.
func (w *Window) add(collector string, from, to Sample) {
	moved, gaps := to.Since(from)
	for name, v := range moved {
		w.Metrics[collector+"_"+name] = v
	}
	for _, g := range gaps {
		u := Unavailable{Collector: collector, Reason: g.Reason}
		if g.Metric != "" {
			u.Metric = collector + "_" + g.Metric
		}
		w.Missing = append(w.Missing, u)
	}
	if e, ok := to.(Explainer); ok {
		for name, words := range e.Explain(from) {
			w.Notes[collector+"_"+name] = words
		}
	}
}
