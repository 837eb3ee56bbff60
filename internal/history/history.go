// Package history computes results over time: the ratios of a study's modes from run to run on
// each machine, with the points at which they changed, and the judgement of a run by the runs
// before it. It is pure: it reads no file and no clock.
package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/identity"

	"tare/internal/analysis/changes"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/stats/changepoint"
)

// Run is a run with where it is and what study it is of. Study is the name of the study and
// Hash that of what decides its results, empty if unknown. Problem says why only the path is
// known. Of Run, its facts, modes, status and those cells are used that have a ratio.
type Run struct {
	Path        string
	Study, Hash string
	Problem     string
	Run         result.Run
	kept        *[]point // of a run of which [Kept] has kept them in place of its cells
}

// FalseAlarms is the rate of false alarms of a history: the probability, at most, with which a
// history without any change has a change point in any of its series.
const FalseAlarms = 0.05

// Of returns the history of the study with a hash among runs in any order. It has the series of
// the metrics named or, if there are none, of those that represent their workload and of the CPU
// cost. A run that is of the study but has no ratio in them is left out with the reason, and so
// is one that cannot be read, that has the name of the study and another hash, or that is a copy.
func Of(runs []Run, hash string, metrics []string) result.History {
	h := result.History{Hash: hash, FalseAlarms: FalseAlarms, Machines: []result.MachineHistory{}}
	kept, out := sorted(runs, hash, "", metrics)
	h.LeftOut = out
	if len(kept) > 0 {
		h.Study = kept[len(kept)-1].Study
	}
	for _, m := range machines(kept) {
		h.Machines = append(h.Machines, machineHistory(m, metrics))
	}
	tests := 0
	for _, m := range h.Machines {
		for _, s := range m.Series {
			if len(s.Points) >= 2*changepoint.MinSegment {
				tests++
			}
		}
	}
	level := h.FalseAlarms / float64(max(1, tests))
	h.MinRuns = changepoint.MinPoints(level)
	for _, m := range h.Machines {
		for i := range m.Series {
			change(&m.Series[i], level, tests)
		}
	}
	return h
}

// sorted returns the runs of a study that have a ratio, oldest first, and those that are left
// out. The name is one that the study has besides those of the runs.
func sorted(runs []Run, hash, name string, metrics []string) (kept []Run, out []result.LeftOut) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(a.Run.Started.Compare(b.Run.Started), cmp.Compare(a.Path, b.Path))
	})
	names := map[string]bool{name: name != ""}
	for _, r := range runs {
		if r.Hash == hash && r.Study != "" {
			names[r.Study] = true
		}
	}
	seen := map[string]string{}
	for _, r := range runs {
		reason := ""
		switch first, copied := seen[r.Run.ID]; {
		case r.Problem != "":
			reason = r.Problem
		case r.Hash != hash && !names[r.Study]:
			continue // of another study
		case r.Hash == "":
			reason = "it does not record what decides its results"
		case r.Hash != hash:
			reason = fmt.Sprintf("its study has the same name and other settings: its hash is %s, not %s; tare compare lists the differences", r.Hash, hash)
		case r.Run.Started.IsZero():
			reason = "it does not record when it started"
		case copied && r.Run.ID != "":
			reason = "it is a copy of " + first
		case len(points(r, metrics)) == 0:
			reason = noRatio(r.Run)
		default:
			seen[r.Run.ID] = r.Path
			kept = append(kept, r)
			continue
		}
		out = append(out, result.LeftOut{Path: r.Path, ID: r.Run.ID, Reason: reason})
	}
	return kept, out
}

// noRatio is why a run has no ratio.
func noRatio(r result.Run) string {
	for _, m := range r.Modes {
		if m.Baseline != "" && m.Status != result.ModeMeasured {
			reason := fmt.Sprintf("no mode of it has a ratio: %s is %s", m.ID, m.Status)
			if m.Reason != "" {
				reason += ": " + m.Reason
			}
			return reason
		}
	}
	if r.Status != result.RunComplete {
		return fmt.Sprintf("no mode of it has a ratio: it is %s", r.Status)
	}
	return "no mode of it has a ratio in the metrics of the history"
}

// machine is the runs on one machine, oldest first.
type machine struct {
	key   string
	facts []result.Fact
	runs  []Run
}

// machines groups runs by machine, in the order of the latest run on each, latest first.
func machines(runs []Run) []machine {
	var out []machine
	for _, r := range runs {
		key, facts := identity.Of(r.Run)
		i := slices.IndexFunc(out, func(m machine) bool { return m.key == key })
		if i < 0 {
			i, out = len(out), append(out, machine{key: key, facts: facts})
		}
		out[i].runs = append(out[i].runs, r)
	}
	slices.SortStableFunc(out, func(a, b machine) int {
		return b.runs[len(b.runs)-1].Run.Started.Compare(a.runs[len(a.runs)-1].Run.Started)
	})
	return out
}

// machineHistory is the history of a machine without change points.
func machineHistory(m machine, metrics []string) result.MachineHistory {
	out := result.MachineHistory{Machine: identity.Name(m.facts), Facts: slices.Clone(m.facts), Runs: []result.HistoryRun{}, Series: []result.HistorySeries{}}
	at := map[seriesKey]int{}
	for _, i := range newestFirst(len(m.runs)) { // so that the order is that of the newest run
		for _, p := range points(m.runs[i], metrics) {
			if _, known := at[p.key]; !known {
				at[p.key] = len(out.Series)
				out.Series = append(out.Series, result.HistorySeries{Mode: p.key.mode, Baseline: p.key.baseline, Workload: p.key.workload, Metric: p.key.metric, Better: p.better})
			}
		}
	}
	gap := usualGap(m.runs)
	for i, r := range m.runs {
		run := result.HistoryRun{ID: r.Run.ID, Path: r.Path, Started: r.Run.Started, Build: r.Run.Tare, Note: note(m.runs[:i+1], gap)}
		if i > 0 {
			run.Changed = changes.Environment(m.runs[i-1].Run, r.Run)
		}
		out.Runs = append(out.Runs, run)
		for _, p := range points(r, metrics) {
			s := &out.Series[at[p.key]]
			s.Points = append(s.Points, result.HistoryPoint{Run: i, Ratio: p.ratio, RatioCI: p.ci})
		}
	}
	return out
}

func newestFirst(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = n - 1 - i
	}
	return out
}

// longGap is how many usual gaps between runs a gap has that is noted.
const longGap = 5

// usualGap is the median time between the starts of neighbours, 0 with fewer than four runs.
func usualGap(runs []Run) time.Duration {
	var gaps []float64
	for i := 1; i < len(runs); i++ {
		gaps = append(gaps, runs[i].Run.Started.Sub(runs[i-1].Run.Started).Seconds())
	}
	if len(gaps) < 3 {
		return 0
	}
	return time.Duration(stats.Median(gaps) * float64(time.Second))
}

// note says why the last of some runs must be read with care.
func note(runs []Run, gap time.Duration) string {
	r := runs[len(runs)-1].Run
	var notes []string
	if r.Noisy != "" {
		notes = append(notes, "too noisy to judge: "+r.Noisy)
	}
	if r.Status != result.RunComplete {
		notes = append(notes, string(r.Status))
	}
	if !r.Finished.IsZero() && r.Finished.Before(r.Started) {
		notes = append(notes, "the clock was set back during the run: it ended before it started")
	}
	if len(runs) > 1 {
		before := runs[len(runs)-2].Run
		if since := r.Started.Sub(before.Started); gap > 0 && since > longGap*gap {
			notes = append(notes, fmt.Sprintf("%.3g times the usual time after the run before", since.Seconds()/gap.Seconds()))
		}
		if differ := identity.Differences(before, r); len(differ) > 0 {
			notes = append(notes, "the machine may have become another since the run before: "+identity.Text(differ))
		}
		if r.Started.Before(before.Finished) {
			notes = append(notes, fmt.Sprintf("run %s had not ended when it started: the two disturbed each other, or the clock was set back", before.ID))
		}
	}
	return strings.Join(notes, "; ")
}

// seriesKey is what a series is of.
type seriesKey struct{ mode, baseline, workload, metric string }

// point is a ratio of a run.
type point struct {
	key    seriesKey
	better result.Direction
	unit   string
	ratio  float64
	ci     *result.Interval
	n      int
	df     float64 // as of a cell
	bound  bool    // the mode's value, or that of its baseline, is a lower bound
}

// Counts says whether a metric is in histories and decides checks unless others are named: it
// represents its workload, or is a CPU cost.
func Counts(metric string) bool {
	m, ok := result.MetricNamed(metric)
	return ok && (m.Primary || strings.HasPrefix(m.Name, "cpu_cost"))
}

// points lists the ratios of a run in the metrics, in the order of its cells.
func points(of Run, metrics []string) []point {
	if of.kept != nil {
		return *of.kept
	}
	var out []point
	controls, counted, seen := map[string]bool{}, map[string]bool{}, map[seriesKey]bool{}
	for _, m := range of.Run.Modes {
		controls[m.ID] = controls[m.ID] || m.Control
	}
	bounded := result.BoundBaselines(of.Run.Cells)
	for _, c := range of.Run.Cells {
		key := seriesKey{c.Mode, c.Baseline, c.Workload, c.Metric}
		counts, known := counted[c.Metric]
		if !known {
			counts = slices.Contains(metrics, c.Metric) || len(metrics) == 0 && Counts(c.Metric)
			counted[c.Metric] = counts
		}
		switch {
		case c.Baseline == "" || c.Ratio == nil || !(*c.Ratio > 0) || math.IsInf(*c.Ratio, 1):
			continue
		case !counts, controls[c.Mode], seen[key]: // a second one: the file was edited
			continue
		}
		seen[key] = true
		out = append(out, point{key: key, better: c.Better, unit: c.Unit, ratio: *c.Ratio, ci: c.RatioCI, n: c.N, df: c.DF,
			bound: c.AtLeast || bounded(c)})
	}
	return slices.Clip(out)
}
