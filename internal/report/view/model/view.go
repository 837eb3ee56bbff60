// Package model is a run prepared for its sections: cleaned, with a table for each metric of each workload, the texts of their
// values and verdicts, and what several sections show in their own form. It makes no section.
package model

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// View is the data of the document and the figures.
type View struct {
	Input
	Notices     []doc.Notice
	Comparisons []Comparison
	Workloads   []Workload
	Sweeps      []Sweep
	// Concurrencies are workloads at several numbers of flows or streams.
	Concurrencies []Concurrency
	TrialCounts   trialCounts
	Lost          []result.Trial // invalid and failed ones, in order
	Evidence      evidence
	Modes         []result.Mode // as reports list them
}

// Workload is a workload with a table for each of its metrics, the primary
// metric first.
type Workload struct {
	ID     string
	Tables []Table
	ECDFs  []result.ECDF
	Trials map[string][]*result.Trial // by mode, in order, without pilots
	// Empty says that no trial gave a value; it is empty where one did.
	Empty string
}

// New prepares a run: cleaned, with a table for each metric of each workload.
func New(in Input) View {
	in = in.clean()
	withProofs(in.Run.Modes, in.Trials)
	v := View{Input: in, TrialCounts: countTrials(in)}
	for _, t := range in.Trials {
		if t.Status != result.TrialOK {
			v.Lost = append(v.Lost, t)
		}
	}
	families := FamiliesOf(in)
	cells := indexOf(in.Run.Cells)
	rankings := rankingsOf(in.Run)
	for _, f := range families {
		v.Modes = append(v.Modes, f.Modes...)
	}
	workloads := workloadsOf(in)
	sparse := len(v.Modes)*len(workloads) > mostAbsent
	for _, id := range workloads {
		v.Workloads = append(v.Workloads, newWorkload(in, cells, rankings, families, sparse, id))
	}
	v.addCPUCosts()
	v.Concurrencies = concurrenciesOf(in.Run, v.Workloads)
	v.Sweeps = sweepsOf(slices.DeleteFunc(slices.Clone(v.Workloads), func(w Workload) bool { _, is := v.Curve(w.ID); return is }))
	v.Comparisons = comparisonsOf(v.Run)
	v.Notices = notices(v)
	return v
}

// mostAbsent is up to how many pairs of a mode and a workload a table also has the modes that were not measured
// with its workload: in a table of numbers with many names, hardly any mode was.
const mostAbsent = 2500

// workloadsOf lists the workloads in the order in which they first appear, without those of a sensitivity pass.
func workloadsOf(in Input) []string {
	var ids []string
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, c := range in.Run.Cells {
		add(c.Workload)
	}
	for _, t := range in.Trials {
		if _, varied := result.VariedFrom(t.Workload); !varied && !t.Aside() {
			add(t.Workload)
		}
	}
	return ids
}

func newWorkload(in Input, cells cellIndex, rankings rankingIndex, families []Family, sparse bool, id string) Workload {
	trials := map[string][]*result.Trial{}
	w := Workload{ID: id, ECDFs: in.Run.ECDFs, Trials: trials}
	for _, t := range tabled(in.Trials, id) {
		trials[t.Mode] = append(trials[t.Mode], t)
	}
	for _, m := range metricsOf(in, id) {
		t := Table{Workload: id, Metric: m, Rankings: rankings[[2]string{id, m.Name}]}
		t.Ties = TiesOf(t.Rankings)
		no := 0
		for _, f := range families {
			g := Group{Heading: f.Heading(len(families))}
			for _, mode := range f.Modes {
				no++
				cell := cells.of(mode, id, m.Name)
				if sparse && cell == nil && trials[mode.ID] == nil {
					continue
				}
				g.Rows = append(g.Rows, Row{
					Mode:     mode,
					No:       no,
					Baseline: mode.ID == f.Base && f.Compared(),
					Cell:     cell,
					Trials:   trials[mode.ID],
					Base:     trials[f.Base],
					Noisy:    in.Run.NoisyIn(id),
					Metric:   m.Name,
				})
			}
			g.bound()
			t.Groups = append(t.Groups, g)
		}
		t.index()
		t.Scale = t.scale()
		w.Tables = append(w.Tables, t)
	}
	n := 0
	for _, f := range families {
		for _, m := range f.Modes {
			n += len(trials[m.ID])
		}
	}
	if len(w.Tables) == 0 {
		w.Empty = "No value from " + wording.Count(n, "trial", "trials") + "; see the warnings and the trials that do not count."
	}
	return w
}

// metricsOf lists the metrics of a workload: the primary one first, then in the order of
// result.Metrics, then unknown ones.
func metricsOf(in Input, workload string) []result.Metric {
	seen := map[string]result.Metric{}
	for _, t := range in.Trials {
		if t.Workload != workload || t.Aside() {
			continue
		}
		for name := range t.Metrics {
			seen[name] = result.Metric{Name: name, Title: name}
		}
	}
	for _, c := range in.Run.Cells {
		if c.Workload == workload {
			seen[c.Metric] = result.Metric{Name: c.Metric, Title: c.Metric, Unit: c.Unit, Better: c.Better}
		}
	}
	known := in.Run.Metrics
	if len(known) == 0 {
		known = result.MetricsOf(in.Trials)
	}
	at := make(map[string]int, len(known))
	for i, k := range slices.Backward(known) {
		at[k.Name] = i
	}
	rank := func(m result.Metric) int {
		if i, is := at[m.Name]; is {
			return i
		}
		return len(known)
	}
	pace := in.Run.PaceOf(workload)
	var out []result.Metric
	for _, m := range seen {
		if i := rank(m); i < len(known) {
			m = known[i]
		} else if named, ok := result.MetricNamed(m.Name); ok {
			m = named
		}
		if pace != nil && strings.HasPrefix(m.Name, "goodput") {
			m.Title += " at " + wording.Value(pace.Rate, "bit/s") // it must not pass as the limit of a path
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b result.Metric) int {
		switch {
		case a.Primary != b.Primary && a.Primary:
			return -1
		case a.Primary != b.Primary:
			return 1
		case rank(a) != rank(b):
			return rank(a) - rank(b)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// cellIndex finds the cells of a run.
type cellIndex map[cellKey]result.Cell

type cellKey struct{ mode, workload, metric string }

// indexOf indexes cells; of several of one mode, workload and metric the first counts.
func indexOf(cells []result.Cell) cellIndex {
	at := make(cellIndex, len(cells))
	for _, c := range slices.Backward(cells) {
		at[cellKey{c.Mode, c.Workload, c.Metric}] = c
	}
	return at
}

// of finds a cell, nil if there is none; without a baseline it gets that of its mode.
func (x cellIndex) of(mode result.Mode, workload, metric string) *result.Cell {
	c, ok := x[cellKey{mode.ID, workload, metric}]
	if !ok {
		return nil
	}
	if c.Baseline == "" {
		c.Baseline = mode.Baseline
	}
	return &c
}
