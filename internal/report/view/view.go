package view

import (
	"slices"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// Report is a run prepared for a report.
type Report struct{ view view }

// New prepares a report.
func New(in Input) Report { return Report{newView(in)} }

// Document returns the report as a document.
func (r Report) Document() doc.Document { return r.view.document() }

// Ranking returns the rankings of numbers without a baseline as a document.
func (r Report) Ranking() doc.Document { return newBuilder(r.view).rankingDocument() }

// Claims are the claims of the run as one screen.
func (r Report) Claims() doc.Claims { return newBuilder(r.view).claimsScreen() }

// ClaimBlocks are the blocks of the section about claims; empty without claims.
func (r Report) ClaimBlocks() []doc.Block {
	for _, b := range newBuilder(r.view).claims() {
		if s, ok := b.(doc.Section); ok {
			return s.Blocks
		}
	}
	return nil
}

// view is the data of the document and the figures.
type view struct {
	Input
	Notices     []notice
	Comparisons []comparison
	Workloads   []workload
	Sweeps      []sweep
	// Concurrencies are workloads at several numbers of flows or streams.
	Concurrencies []concurrency
	TrialCounts   trialCounts
	Lost          []result.Trial // invalid and failed ones, in order
	Evidence      evidence
	Modes         []result.Mode // as reports list them
}

// workload is a workload with a table for each of its metrics, the primary
// metric first.
type workload struct {
	ID     string
	Tables []table
	ECDFs  []result.ECDF
	trials map[string][]*result.Trial // by mode, in order, without pilots
	// Empty says that no trial gave a value; it is empty where one did.
	Empty string
}

// table is one metric of one workload over all modes.
type table struct {
	Workload string
	Metric   result.Metric
	Scale    wording.Scale
	Groups   []group
	Rankings []result.Ranking
	ties     map[string]tie   // by mode
	flat     []row            // of all groups
	at       map[string][]int // in flat, by mode
}

// group is a baseline with the modes that are compared with it.
type group struct {
	Heading string // empty where there is only one group
	Rows    []row
}

// row is one mode. Cell is nil where there is no value.
type row struct {
	Mode     result.Mode
	No       int  // of the mode, from 1, in the order of reports
	Baseline bool // others are compared with it
	Cell     *result.Cell
	Trials   []*result.Trial // of this mode and workload, in order, without pilots
	Base     []*result.Trial // of the baseline it is compared with
	Noisy    bool            // the workload is too noisy to judge
	Bounded  bool            // the baseline's value is only a lower bound
	Zero     bool            // its own value or the baseline's is 0
	baseZero bool            // the baseline's value is 0
	Metric   string          // of the table it is in
}

func newView(in Input) view {
	in = in.clean()
	withProofs(in.Run.Modes, in.Trials)
	v := view{Input: in, TrialCounts: countTrials(in)}
	for _, t := range in.Trials {
		if t.Status != result.TrialOK {
			v.Lost = append(v.Lost, t)
		}
	}
	families := familiesOf(in)
	cells := indexOf(in.Run.Cells)
	rankings := rankingsOf(in.Run)
	for _, f := range families {
		v.Modes = append(v.Modes, f.modes...)
	}
	workloads := workloadsOf(in)
	sparse := len(v.Modes)*len(workloads) > mostAbsent
	for _, id := range workloads {
		v.Workloads = append(v.Workloads, newWorkload(in, cells, rankings, families, sparse, id))
	}
	v.addCPUCosts()
	v.Concurrencies = concurrenciesOf(in.Run, v.Workloads)
	v.Sweeps = sweepsOf(slices.DeleteFunc(slices.Clone(v.Workloads), func(w workload) bool { _, is := v.curve(w.ID); return is }))
	v.Comparisons = comparisonsOf(v.Run)
	v.Notices = notices(v)
	return v
}

// mostAbsent is up to how many pairs of a mode and a workload a table also has the modes that were not measured
// with its workload: in a table of numbers with many names, hardly any mode was.
const mostAbsent = 2500

// workloadsOf lists the workloads in the order in which they first appear.
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
		if !t.Aside() {
			add(t.Workload)
		}
	}
	return ids
}

func newWorkload(in Input, cells cellIndex, rankings rankingIndex, families []family, sparse bool, id string) workload {
	trials := map[string][]*result.Trial{}
	w := workload{ID: id, ECDFs: in.Run.ECDFs, trials: trials}
	for _, t := range tabled(in.Trials, id) {
		trials[t.Mode] = append(trials[t.Mode], t)
	}
	for _, m := range metricsOf(in, id) {
		t := table{Workload: id, Metric: m, Rankings: rankings[[2]string{id, m.Name}]}
		t.ties = tiesOf(t.Rankings)
		no := 0
		for _, f := range families {
			g := group{Heading: f.heading(len(families))}
			for _, mode := range f.modes {
				no++
				cell := cells.of(mode, id, m.Name)
				if sparse && cell == nil && trials[mode.ID] == nil {
					continue
				}
				g.Rows = append(g.Rows, row{
					Mode:     mode,
					No:       no,
					Baseline: mode.ID == f.base && f.compared(),
					Cell:     cell,
					Trials:   trials[mode.ID],
					Base:     trials[f.base],
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
		for _, m := range f.modes {
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

// index prepares a table with its groups for finding rows, because there may be very many
// modes.
func (t *table) index() {
	t.flat = t.rows()
	t.at = make(map[string][]int, len(t.flat))
	for i, r := range t.flat {
		t.at[r.Mode.ID] = append(t.at[r.Mode.ID], i)
	}
}

// of is the row of a mode.
func (t table) of(mode string) (row, bool) {
	for _, i := range t.at[mode] {
		return t.flat[i], true
	}
	return row{}, false
}

// rows are the rows of all groups.
func (t table) rows() []row {
	if t.flat != nil {
		return t.flat
	}
	var out []row
	for _, g := range t.Groups {
		out = append(out, g.Rows...)
	}
	return out
}

// scale suits the largest value of the table.
func (t table) scale() wording.Scale {
	var values []float64
	for _, r := range t.rows() {
		if r.Cell != nil && r.Cell.Value != nil {
			values = append(values, *r.Cell.Value)
			continue
		}
		for _, trial := range r.Trials {
			if v, ok := trial.Metrics[t.Metric.Name]; ok && trial.Status == result.TrialOK {
				values = append(values, v)
			}
		}
	}
	return wording.ScaleFor(t.Metric.Unit, values...)
}

// tabled are the trials of a workload without those that count in no cell by design, and with those
// ruled out whose set was run once more.
//
// There may be very many trials: only those of such sets are copied.
func tabled(trials []result.Trial, workload string) []*result.Trial {
	old := result.Superseded(trials)
	var out []*result.Trial
	for i := range trials {
		t := &trials[i]
		if t.Workload != workload || t.Aside() {
			continue
		}
		if t.Status == result.TrialOK && old(t) {
			again := *t
			again.Status, again.Reason = result.TrialInvalid, "run again, with all of its set"
			t = &again
		}
		out = append(out, t)
	}
	return out
}

func zero(c *result.Cell) bool { return c != nil && c.Value != nil && *c.Value == 0 }

// bound sets what the rows of a group need to know of their baseline.
func (g group) bound() {
	for _, b := range g.Rows {
		for i := range g.Rows {
			if r := &g.Rows[i]; b.Baseline && !r.Baseline && b.Cell != nil {
				r.Bounded = b.Cell.AtLeast
				r.baseZero = zero(b.Cell)
				r.Zero = r.baseZero || zero(r.Cell)
			}
		}
	}
}
