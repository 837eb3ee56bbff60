package observe

import "fmt"

// Unavailable says which figure of which collector a window lacks, and why. An
// empty Figure stands for all figures of the collector.
type Unavailable struct {
	Collector string
	Figure    string // full name, such as cpu_idle
	Reason    string
}

// String is one line for a log or a warning.
func (u Unavailable) String() string {
	if u.Figure == "" {
		return fmt.Sprintf("collector %s: %s", u.Collector, u.Reason)
	}
	return fmt.Sprintf("%s: %s", u.Figure, u.Reason)
}

// Watch opens windows on a set of collectors. It lives as long as a run, so that
// a collector that is missing throughout is told once and not with every trial.
// Neither it nor its sessions may be used from several goroutines at once.
type Watch struct {
	collectors []Collector
	told       map[Unavailable]bool
}

// NewWatch makes a Watch over collectors, read in the order given.
func NewWatch(collectors []Collector) *Watch {
	return &Watch{collectors: collectors, told: make(map[Unavailable]bool)}
}

// Session is one open window.
type Session struct {
	watch *Watch
	start []reading
}

// reading is a collector's answer, one of sample and err.
type reading struct {
	sample Sample
	err    error
}

// Start opens a window. It cannot fail: a collector that does is left out of
// this window and named by Stop.
func (w *Watch) Start() *Session {
	return &Session{watch: w, start: w.read(func(int) bool { return true })}
}

// Stop closes the window and gives its figures by full name (cpu_user), in the
// units of their collector, and what is missing. A collector that could not be
// read is named once a Watch for each reason; a single figure that this window
// lost is named each time, because that is about this window alone.
func (s *Session) Stop() (map[string]float64, []Unavailable) {
	// All reads come before any arithmetic, so that one collector's work is
	// not inside another's window.
	end := s.watch.read(func(i int) bool { return s.start[i].err == nil })

	figures := make(map[string]float64)
	var missing []Unavailable
	for i, c := range s.watch.collectors {
		err := s.start[i].err
		if err == nil {
			err = end[i].err
		}
		if err != nil {
			u := Unavailable{Collector: c.Name(), Reason: err.Error()}
			if !s.watch.told[u] {
				s.watch.told[u] = true
				missing = append(missing, u)
			}
			continue
		}
		moved, gaps := end[i].sample.Since(s.start[i].sample)
		for name, v := range moved {
			figures[c.Name()+"_"+name] = v
		}
		for _, g := range gaps {
			u := Unavailable{Collector: c.Name(), Reason: g.Reason}
			if g.Figure != "" {
				u.Figure = c.Name() + "_" + g.Figure
			}
			missing = append(missing, u)
		}
	}
	return figures, missing
}

// read asks the collectors that wanted picks.
func (w *Watch) read(wanted func(int) bool) []reading {
	out := make([]reading, len(w.collectors))
	for i, c := range w.collectors {
		if wanted(i) {
			out[i].sample, out[i].err = c.Read()
		}
	}
	return out
}
