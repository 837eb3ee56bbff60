package term

import (
	"maps"
	"slices"
	"time"

	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/wording"
)

// state is the current knowledge about a run.
type state struct {
	plan     live.Planned
	planned  time.Time
	settled  map[string]live.ModeSettled
	columns  []live.Column
	cells    map[cellKey]cell
	blocks   int // of the ratios
	trial    live.TrialStarted
	began    time.Time // of the trial
	done     int       // trials
	rates    map[string]rateHistory
	warnings []string // the newest last
	warned   int
	decision string
	failed   error // why drawing stopped
}

type cellKey struct{ mode, workload, metric string }

// cell is one cell of the matrix: the intermediate result of the run or, before there is
// one, the mean of the trials so far.
type cell struct {
	sum      float64
	n        int
	hasValue bool
	value    *float64
	ratio    *float64
	least    bool // a lower bound
}

func (c cell) known() (float64, bool) {
	switch {
	case c.hasValue && c.value != nil:
		return *c.value, true
	case c.n > 0:
		return c.sum / float64(c.n), true
	}
	return 0, false
}

// rateHistory is the history of a trial's rate, the newest value last.
type rateHistory struct {
	unit  string
	rates []float64
}

// Limits of what is kept.
const (
	keptRates    = 40
	keptWarnings = 8
	longestName  = 200 // columns
	longestText  = 1000
)

// name and text make foreign strings safe to draw. All names are cleaned on arrival,
// because frames are drawn more often than events arrive.
func name(s string) string { return wording.Cut(wording.Clean(s), longestName) }
func text(s string) string { return wording.Cut(wording.Clean(s), longestText) }

func names(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = name(s)
	}
	return out
}

// note processes an event.
func (s *state) note(e live.Event, now time.Time) {
	switch e := e.(type) {
	case live.Planned:
		e.RunID, e.Profile, e.Modes = name(e.RunID), name(e.Profile), names(e.Modes)
		*s = state{plan: e, planned: now, settled: map[string]live.ModeSettled{}, cells: map[cellKey]cell{}}
		for _, c := range e.Columns {
			s.column(live.Column{Workload: name(c.Workload), Metric: name(c.Metric)})
		}
	case live.ModeSettled:
		if s.settled == nil {
			s.settled = map[string]live.ModeSettled{}
		}
		e.Mode, e.Reason = name(e.Mode), text(e.Reason)
		s.settled[e.Mode] = e
	case live.TrialStarted:
		e.Modes, e.Workload = names(e.Modes), name(e.Workload)
		s.trial, s.began, s.done, s.rates = e, now, e.Done, map[string]rateHistory{}
	case live.Progress:
		s.progress(e)
	case live.TrialEnded:
		s.ended(e.Trial)
	case live.Provisional:
		s.provisional(e)
	case live.WarningRaised:
		s.warn(e.Warning)
	case live.Waiting:
		s.decision = text(e.Text)
	case live.Decision:
		s.decision = text(e.Text)
	case live.Moved:
		s.decision = text(e.String())
	}
}

// progress adds to the rates of the running trial.
func (s *state) progress(e live.Progress) {
	e.Mode, e.Workload = name(e.Mode), name(e.Workload)
	if e.Workload != s.trial.Workload || !slices.Contains(s.trial.Modes, e.Mode) {
		return
	}
	p := s.rates[e.Mode]
	p.unit = e.Unit
	p.rates = append(p.rates, e.Rate)
	if len(p.rates) > keptRates {
		p.rates = slices.Clone(p.rates[1:])
	}
	s.rates[e.Mode] = p
}

func (s *state) ended(t result.Trial) {
	if t.Status == result.TrialOK {
		s.done++
	}
	if t.Status != result.TrialOK || t.Aside() {
		return
	}
	for _, m := range result.MetricsOf([]result.Trial{t}) {
		v, ok := t.Metrics[m.Name]
		if !ok || !m.Primary {
			continue
		}
		at := cellKey{name(t.Mode), name(t.Workload), m.Name}
		s.column(live.Column{Workload: at.workload, Metric: m.Name})
		c := s.cells[at]
		c.sum, c.n = c.sum+v, c.n+1
		s.put(at, c)
	}
}

// column adds a column for a metric that was not announced, next to those of its workload.
func (s *state) column(c live.Column) {
	if slices.Contains(s.columns, c) {
		return
	}
	at := len(s.columns)
	for i, o := range s.columns {
		if o.Workload == c.Workload {
			at = i + 1
		}
	}
	s.columns = slices.Insert(s.columns, at, c)
}

func (s *state) put(at cellKey, c cell) {
	if s.cells == nil {
		s.cells = map[cellKey]cell{}
	}
	s.cells[at] = c
}

func (s *state) provisional(e live.Provisional) {
	s.blocks = e.Blocks
	for _, c := range e.Cells {
		m, known := result.MetricNamed(c.Metric)
		if !known || !m.Primary || c.Value == nil {
			continue
		}
		at := cellKey{name(c.Mode), name(c.Workload), c.Metric}
		s.column(live.Column{Workload: at.workload, Metric: c.Metric})
		old := s.cells[at]
		old.hasValue, old.value, old.ratio, old.least = true, c.Value, c.Ratio, c.AtLeast
		s.put(at, old)
	}
}

func (s *state) warn(w result.Warning) {
	said := w.Text
	if said == "" {
		said = w.Code
	}
	if w.Scope != "" && w.Scope != "run" {
		said = w.Scope + ": " + said
	}
	s.warned++
	s.warnings = append(s.warnings, text(said))
	if len(s.warnings) > keptWarnings {
		s.warnings = slices.Clone(s.warnings[1:])
	}
}

// modes are those of the plan, and any others that events mentioned.
func (s *state) modes() []string {
	all := slices.Clone(s.plan.Modes)
	for _, m := range slices.Sorted(maps.Keys(s.settled)) {
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// left is the estimated remaining time of the run; ok is false if it is unknown.
func (s *state) left(now time.Time) (d time.Duration, ok bool) {
	total, since := s.trial.Remaining, s.began
	if s.began.IsZero() {
		total, since = s.plan.Estimate, s.planned
	}
	if total <= 0 {
		return 0, false
	}
	return max(0, total-now.Sub(since)), true
}
