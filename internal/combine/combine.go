// Package combine makes one answer of runs of one study on several machines or days: for each ratio of a mode to its baseline the
// mean over the machines, how much it differs between them, and where a run on the next machine will be. It is pure: see
// docs/combine.md.
package combine

import (
	"fmt"
	"slices"

	"tare/internal/analysis/identity"
	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/stats"
)

// mostRatios is the maximum number of ratios of all runs together, which keeps them below 256 MB.
const mostRatios = 400_000

// Options say what is combined. Without Metrics, all are. Margin is the largest relative difference that counts as the same.
// Distinct counts every run as of a machine of its own.
type Options struct {
	Metrics  []string
	Margin   float64
	Distinct bool
}

// Set is runs, of which only what is combined is kept. The zero value is empty.
type Set struct {
	Options
	runs     []result.CombinedRun
	machines []machine
	modes    map[string]result.Mode // of the first run that measured it
	of       map[string]int         // that run
	metrics  map[string]result.Cell // one that has the metric, of the first run with it
	ratios   map[key]*series
	keys     []key // of ratios, in order
	n        int
	leftOut  []result.CombinedLeftOut
}

// machine is a machine with what it is known by.
type machine struct {
	result.CombinedMachine
	key string
}

// key is what a ratio is of.
type key struct{ mode, baseline, workload, metric string }

// series is a ratio in several runs.
type series struct {
	better result.Direction
	points []point
}

// point is the ratio of one run.
type point struct {
	run    int
	effect stats.LogRatio
	added  *result.Added
	// mayRise and mayFall say that the true ratio may be above or below, because a value in it is a lower bound.
	mayRise, mayFall bool
}

// Add adds a run that was read from path. It returns why the run cannot be combined with those before it, and then leaves the set
// as it was.
func (s *Set) Add(path string, run result.Run, differs []result.Difference) (reasons []string) {
	if run.Trials.OK == 0 || len(run.Cells) == 0 {
		return []string{"it has no valid trial"}
	}
	for _, r := range s.runs {
		if r.ID == run.ID && run.ID != "" {
			return []string{fmt.Sprintf("it is the same run as %s: both have the id %s", r.Path, run.ID)}
		}
	}
	if reasons = s.otherwise(run); len(reasons) > 0 {
		return reasons
	}
	if s.n += len(run.Cells); s.n > mostRatios {
		return []string{fmt.Sprintf("with it the runs have more than %d ratios: combine fewer runs, or choose --metrics", mostRatios)}
	}
	at := len(s.runs)
	s.runs = append(s.runs, result.CombinedRun{ID: run.ID, Path: path, Started: run.Started, Status: run.Status, Build: run.Tare, Machine: s.machine(run), Differs: differs})
	s.know(run, at)
	s.points(run, at)
	return nil
}

// otherwise lists what a run has in common with those before it and compares or measures otherwise.
func (s *Set) otherwise(run result.Run) (reasons []string) {
	for _, m := range run.Modes {
		if known, ok := s.modes[m.ID]; ok && known.Baseline != m.Baseline && m.Status == result.ModeMeasured {
			reasons = append(reasons, fmt.Sprintf("mode %s has the baseline %s, and %s in %s", m.ID, orNone(m.Baseline), orNone(known.Baseline), s.runs[s.of[m.ID]].Path))
		}
	}
	seen := map[string]bool{}
	for _, c := range run.Cells {
		known, ok := s.metrics[c.Metric]
		if !ok || seen[c.Metric] || known.Unit == c.Unit && known.Better == c.Better {
			continue
		}
		seen[c.Metric] = true
		reasons = append(reasons, fmt.Sprintf("metric %s is in %s (%s is better), and in %s (%s is better) in the runs before it: another version of tare measured it",
			c.Metric, orNone(c.Unit), orNone(string(c.Better)), orNone(known.Unit), orNone(string(known.Better))))
	}
	return reasons
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// know notes what later runs are held against.
func (s *Set) know(run result.Run, at int) {
	if s.modes == nil {
		s.modes, s.of, s.metrics, s.ratios = map[string]result.Mode{}, map[string]int{}, map[string]result.Cell{}, map[key]*series{}
	}
	for _, m := range run.Modes {
		if _, ok := s.modes[m.ID]; !ok && m.Status == result.ModeMeasured {
			s.modes[m.ID], s.of[m.ID] = result.Mode{ID: m.ID, Baseline: m.Baseline}, at
		}
	}
	for _, c := range run.Cells {
		if _, ok := s.metrics[c.Metric]; !ok {
			s.metrics[c.Metric] = result.Cell{Metric: c.Metric, Unit: c.Unit, Better: c.Better}
		}
	}
}

// machine is the index of the machine of a run. Runs that record nothing of their machine count as of one.
func (s *Set) machine(run result.Run) int {
	id, facts := identity.Of(run)
	i := slices.IndexFunc(s.machines, func(m machine) bool { return m.key == id })
	if i < 0 || s.Distinct {
		i = len(s.machines)
		s.machines = append(s.machines, machine{result.CombinedMachine{Machine: identity.Name(facts), Facts: facts}, id})
	}
	s.machines[i].Runs++
	return i
}

// points keeps the ratios of a run, and notes those that have no error.
func (s *Set) points(run result.Run, at int) {
	skip := map[string]bool{}
	for _, m := range run.Modes {
		skip[m.ID] = m.Control
		if m.Status != result.ModeMeasured && !m.Control {
			s.leave(at, m.ID, "", string(m.Status)+": "+m.Reason)
		}
	}
	bounded := result.BoundBaselines(run.Cells)
	for _, c := range run.Cells {
		k := key{c.Mode, c.Baseline, c.Workload, c.Metric}
		if c.Baseline == "" || skip[c.Mode] || verdict.Uncompared(c.Metric) || len(s.Metrics) > 0 && !slices.Contains(s.Metrics, c.Metric) {
			continue
		}
		effect, reason := effectOf(run, c)
		if reason != "" {
			s.leave(at, c.Mode, c.Workload, reason)
			continue
		}
		of := s.ratios[k]
		if of == nil {
			of = &series{better: c.Better}
			s.ratios[k], s.keys = of, append(s.keys, k)
		}
		if n := len(of.points); n > 0 && of.points[n-1].run == at {
			continue // a second one: the file was edited
		}
		of.points = append(of.points, point{run: at, effect: effect, added: c.Added, mayRise: c.AtLeast, mayFall: bounded(c)})
	}
}

// effectOf is the log ratio of a cell with the error of its own interval, or why it has none.
func effectOf(run result.Run, c result.Cell) (effect stats.LogRatio, reason string) {
	switch {
	case run.NoisyIn(c.Workload):
		return effect, "too noisy to judge"
	case c.Unpaired:
		return effect, "its values are not in blocks, so that the error of a ratio is not recorded"
	case c.Ratio == nil:
		return effect, c.Metric + " has no ratio: a value is 0, or no block has both the mode and its baseline"
	case c.N < stats.MinPairs || c.RatioCI == nil:
		return effect, fmt.Sprintf("fewer than %d blocks", stats.MinPairs)
	}
	effect, ok := stats.EffectOf(*c.Ratio, c.RatioCI[0], c.RatioCI[1], c.N, c.DF)
	if !ok {
		return effect, "its interval is no interval of a ratio"
	}
	return effect, ""
}

// leave notes that ratios of a run are left out, once for each reason.
func (s *Set) leave(run int, mode, workload, reason string) {
	l := result.CombinedLeftOut{Run: run, Mode: mode, Workload: workload, Reason: reason}
	if n := len(s.leftOut); (n == 0 || s.leftOut[n-1] != l) && !slices.Contains(s.leftOut[max(0, n-50):], l) {
		s.leftOut = append(s.leftOut, l)
	}
}
