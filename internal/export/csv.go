package export

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tare/internal/analysis/readings"
	"tare/internal/result"
)

// columns are the columns of the table, in order.
func columns() []string {
	return []string{"run", "block", "seq", "attempt", "mode", "baseline", "control", "workload", "metric", "unit", "better", "value", "at_least", "status", "started", "reason"}
}

// CSV writes one line for each metric of each trial, in base units and with all digits,
// ordered by block, workload and mode; `tare judge` computes the run's verdicts from it.
// A trial that counts in no cell has a line whose status says why, and which has a value
// only if the trial succeeded:
//
//	invalid, failed           the trial's own status
//	pilot                     it only determined the warm-up
//	void, unsupported, failed the final status of its mode
//	superseded                a later trial of its block replaces it
//
// Its only errors are those of w.
func CSV(w io.Writer, run result.Run, trials []result.Trial) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns()); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	t := table{run: run, counts: readings.Counted(run.Modes, trials), metrics: metricsOf(run)}
	for _, i := range t.order(trials) {
		for _, line := range t.lines(trials[i], t.status(trials[i], t.counts[i])) {
			if err := out.Write(line); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

type table struct {
	run     result.Run
	counts  []bool
	metrics []result.Metric
}

// metricsOf lists the metrics of a run in order: the standard metrics, then others that
// its cells have.
func metricsOf(run result.Run) []result.Metric {
	all := append(slices.Clone(run.Metrics), result.Metrics()...)
	for _, c := range run.Cells {
		if !slices.ContainsFunc(all, func(m result.Metric) bool { return m.Name == c.Metric }) {
			all = append(all, result.Metric{Name: c.Metric, Unit: c.Unit, Better: c.Better})
		}
	}
	return all
}

// order sorts trials by block, workload and mode, the latter two in the order of the run,
// and pilots last, so that readers who use the order of first appearance get the order of
// the run.
func (t table) order(trials []result.Trial) []int {
	modes, workloads := map[string]int{}, map[string]int{}
	number := func(m map[string]int, name string) {
		if _, there := m[name]; !there {
			m[name] = len(m)
		}
	}
	for _, m := range t.run.Modes {
		number(modes, m.ID)
	}
	for _, c := range t.run.Cells {
		number(workloads, c.Workload)
	}
	order := make([]int, len(trials))
	for i, tr := range trials {
		number(modes, tr.Mode)
		number(workloads, tr.Workload)
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := trials[i], trials[j]
		switch {
		case a.Aside() && !b.Aside():
			return 1
		case b.Aside() && !a.Aside():
			return -1
		}
		return cmp.Or(a.Block-b.Block, workloads[a.Workload]-workloads[b.Workload], modes[a.Mode]-modes[b.Mode])
	})
	return order
}

// status is whether a trial counts, or why not.
func (t table) status(tr result.Trial, counts bool) string {
	i := slices.IndexFunc(t.run.Modes, func(m result.Mode) bool { return m.ID == tr.Mode })
	switch {
	case counts || tr.Status != result.TrialOK:
		return string(tr.Status)
	case tr.Pilot:
		return "pilot"
	case tr.Paces:
		return "paces"
	case tr.TailRate > 0:
		return "tail_pass"
	case tr.Profiled:
		return "profiled"
	case i >= 0 && t.run.Modes[i].Status != result.ModeMeasured:
		return string(t.run.Modes[i].Status)
	}
	return "superseded"
}

// lines are those of one trial: at least one, and one for each of its metrics.
func (t table) lines(tr result.Trial, status string) [][]string {
	base, control := "", ""
	if i := slices.IndexFunc(t.run.Modes, func(m result.Mode) bool { return m.ID == tr.Mode }); i >= 0 {
		base = t.run.Modes[i].Baseline
		if t.run.Modes[i].Control {
			control = "true"
		}
	}
	started := ""
	if !tr.Started.IsZero() {
		started = tr.Started.UTC().Format(time.RFC3339Nano)
	}
	line := func(m result.Metric, value, atLeast string) []string {
		return []string{t.run.ID, strconv.Itoa(tr.Block), strconv.Itoa(tr.Seq), strconv.Itoa(tr.Attempt), tr.Mode, base, control, tr.Workload,
			m.Name, m.Unit, string(m.Better), value, atLeast, status, started, tr.Reason}
	}
	var out [][]string
	for _, m := range t.of(tr) {
		atLeast := ""
		if tr.Limited(m) {
			atLeast = "true"
		}
		out = append(out, line(m, strconv.FormatFloat(tr.Metrics[m.Name], 'g', -1, 64), atLeast))
	}
	if len(out) == 0 {
		out = append(out, line(result.Metric{}, "", ""))
	}
	return out
}

// of lists the metrics of a trial: the known ones in order, then the others by name.
func (t table) of(tr result.Trial) []result.Metric {
	var out []result.Metric
	seen := map[string]bool{}
	for _, m := range t.metrics {
		if _, has := tr.Metrics[m.Name]; has && !seen[m.Name] {
			out = append(out, m)
			seen[m.Name] = true
		}
	}
	var other []string
	for name := range tr.Metrics {
		if !seen[name] {
			other = append(other, name)
		}
	}
	slices.Sort(other)
	for _, name := range other {
		out = append(out, result.Metric{Name: name})
	}
	return out
}
