package observe

import (
	"cmp"
	"fmt"
	"slices"
)

// Unavailable says which figure of which collector a window lacks, and why. An
// empty Figure stands for all figures of the collector.
type Unavailable struct {
	Collector string
	Metric    string // full name, such as cpu_idle
	Reason    string
}

// String is one line for a log or a warning.
func (u Unavailable) String() string {
	if u.Metric == "" {
		return fmt.Sprintf("collector %s: %s", u.Collector, u.Reason)
	}
	return fmt.Sprintf("%s: %s", u.Metric, u.Reason)
}

// CollectorSet opens windows on a set of collectors. It lives as long as a run, so that
// a collector that is missing throughout is told once and not with every trial.
// Neither it nor its sessions may be used from several goroutines at once.
type CollectorSet struct {
	collectors []Collector
	told       map[Unavailable]bool
}

// NewCollectorSet makes a Watch over collectors, read in the order given.
func NewCollectorSet(collectors []Collector) *CollectorSet {
	return &CollectorSet{collectors: collectors, told: make(map[Unavailable]bool)}
}

// Window is what was found of a window that has closed.
type Window struct {
	Metrics map[string]float64 // by full name (cpu_user), in the units of their collector
	Notes   map[string]string  // what a collector can say of a figure, by its full name
	Missing []Unavailable
}

// Session is one open window.
type Session struct {
	watch *CollectorSet
	start []reading
}

// reading is a collector's answer, one of sample and err.
type reading struct {
	sample Sample
	err    error
}

// Start opens a window. It cannot fail: a collector that does is left out of
// this window and named by Stop.
func (w *CollectorSet) Start() *Session {
	s := &Session{watch: w, start: make([]reading, len(w.collectors))}
	for i, c := range slices.Backward(w.collectors) {
		s.start[i].sample, s.start[i].err = c.Read()
	}
	return s
}

// Stop closes the window and gives its figures and what is missing. A collector
// that could not be read is named once a Watch for each reason; a single figure
// that this window lost is named each time, because that is about this window alone.
func (s *Session) Stop() Window {
	// All reads come before any arithmetic, so that one collector's work is
	// not inside another's window.
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
			if !s.watch.told[u] {
				s.watch.told[u] = true
				out.Missing = append(out.Missing, u)
			}
			continue
		}
		out.add(c.Name(), s.start[i].sample, end[i].sample)
	}
	return out
}

// add takes in what a collector found.
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
