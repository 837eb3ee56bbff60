// Package readings has the values of the valid trials of a run, by mode, workload and metric, and computes with those of one block.
package readings

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// Table has the values of the valid trials of a run, in about 200 bytes for each: a run
// decides by it between its blocks. The zero value is an empty table.
type Table struct {
	columns  map[key]*column
	repeated map[set]bool
	searched result.Trial // has the metrics of every trial with a search
}

// Add adds a trial, in the order in which they ran. Only those that can count in a cell are
// kept: ok, no pilot, not superseded by a repeated group, and of several of one block the last.
func (t *Table) Add(trial result.Trial) { t.add(&trial, nil) }

// Until returns the table without later blocks. The two share values: nothing may be added
// while it is in use.
func (t *Table) Until(block int) *Table {
	out := &Table{columns: map[key]*column{}, searched: t.searched}
	for at, c := range t.columns {
		n, _ := slices.BinarySearchFunc(c.rows, block+1, byBlock)
		out.columns[at] = &column{names: c.names, rows: c.rows[:n]}
	}
	return out
}

// key is a mode with a workload, and set all modes with a workload in a block.
type (
	key struct{ mode, workload string }
	set struct {
		block    int
		workload string
	}
)

// Columns has the columns of the modes and workloads that are judged.
type Columns map[key]*column

// column is one mode with one workload: its trials in the order of blocks, one for each.
type column struct {
	names []string // of metrics
	rows  []counted
}

// counted is a trial that counts.
type counted struct {
	block  int
	setup  int       // as of reading
	values []float64 // by the names of the column; see bad
	bounds *result.Bounds
	trial  *result.Trial // the whole trial, nil in a table of values alone
}

// bad stands for a negative or non-finite value. A value that a trial lacks is NaN, or is
// behind the end of its row.
const bad = -1

// Tabulate makes the table of these modes and workloads.
func Tabulate(modes []result.Mode, workloads []string, trials []result.Trial) Columns {
	var all Table
	tab := all.Of(modes, workloads)
	sizes := map[*column]int{}
	for i := range trials {
		sizes[tab[key{trials[i].Mode, trials[i].Workload}]]++
	}
	for _, c := range tab {
		c.rows = make([]counted, 0, sizes[c])
	}
	for i := range trials {
		if t := &trials[i]; t.Requeued || tab[key{t.Mode, t.Workload}] != nil {
			all.add(t, t)
		}
	}
	return tab
}

// Of returns the columns of measured modes and of workloads, and makes those that are missing.
func (t *Table) Of(modes []result.Mode, workloads []string) Columns {
	tab := Columns{}
	for _, m := range modes {
		for _, w := range workloads {
			if m.Status == result.ModeMeasured {
				tab[key{m.ID, w}] = t.column(key{m.ID, w})
			}
		}
	}
	return tab
}

func (t *Table) column(at key) *column {
	c := t.columns[at]
	if c == nil {
		if t.columns == nil {
			t.columns = map[key]*column{}
		}
		c = &column{}
		t.columns[at] = c
	}
	return c
}

// add adds a trial, and whole as its record.
func (t *Table) add(trial, whole *result.Trial) {
	if trial.Search != nil {
		t.addSearch(trial.Metrics)
	}
	in := set{trial.Block, trial.Workload}
	if trial.Requeued && !t.repeated[in] {
		t.repeat(in)
	}
	if trial.Status != result.TrialOK || trial.Aside() || t.repeated[in] && !trial.Requeued {
		return
	}
	c := t.column(key{trial.Mode, trial.Workload})
	c.put(counted{block: trial.Block, setup: setupOf(trial), values: c.ordered(trial.Metrics), bounds: trial.Bounds(), trial: whole})
}

func (t *Table) addSearch(metrics map[string]float64) {
	if t.searched.Search == nil {
		t.searched = result.Trial{Search: &result.Search{}, Metrics: map[string]float64{}}
	}
	maps.Copy(t.searched.Metrics, metrics)
}

// repeat removes the trials of a set, before the first one that repeats it is added; see
// [result.Superseded].
func (t *Table) repeat(s set) {
	if t.repeated == nil {
		t.repeated = map[set]bool{}
	}
	t.repeated[s] = true
	for at, c := range t.columns {
		if at.workload == s.workload {
			c.rows = slices.DeleteFunc(c.rows, func(r counted) bool { return r.block == s.block })
		}
	}
}

// Metrics are the metrics of the trials, in order.
func (t *Table) Metrics() []result.Metric { return result.MetricsOf([]result.Trial{t.searched}) }

// ordered returns values in the order of the column's names, to which it adds new ones.
func (c *column) ordered(metrics map[string]float64) []float64 {
	values, known := make([]float64, len(c.names)), 0
	for i, name := range c.names {
		v, has := metrics[name]
		values[i] = math.NaN()
		if has {
			values[i], known = stored(v), known+1
		}
	}
	if known == len(metrics) {
		return values
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if !slices.Contains(c.names, name) {
			c.names, values = append(c.names, name), append(values, stored(metrics[name]))
		}
	}
	return values
}

// stored is a value as rows have it.
func stored(v float64) float64 {
	if !Usable(v) {
		return bad
	}
	return v
}

// put adds a row in the order of blocks. It replaces an earlier one of its block.
func (c *column) put(r counted) {
	at, earlier := slices.BinarySearchFunc(c.rows, r.block, byBlock)
	if earlier {
		c.rows[at] = r
		return
	}
	c.rows = slices.Insert(c.rows, at, r)
}

func byBlock(r counted, block int) int { return r.block - block }

// each calls do with every value of a metric, in order of blocks.
func (c *column) each(metric string, do func(Reading)) {
	at := slices.Index(c.names, metric)
	if at < 0 {
		return
	}
	for _, r := range c.rows {
		if at < len(r.values) && !math.IsNaN(r.values[at]) {
			do(Reading{r.block, r.values[at], r.setup})
		}
	}
}

// Has says whether the column has a value of a metric.
func (c *column) has(metric string) (has bool) {
	c.each(metric, func(Reading) { has = true })
	return has
}

// bad counts the values of a metric that are left out.
func (c *column) bad(metric string) (n int) {
	c.each(metric, func(r Reading) {
		if r.Value == bad {
			n++
		}
	})
	return n
}

// Has says whether a mode has a value of a workload.
func (t Columns) Has(mode, workload string) bool {
	c := t[key{mode, workload}]
	return c != nil && len(c.rows) > 0
}

// Trials are the trials that count. A table of values alone has none.
func (t Columns) Trials(mode, workload string) (out []*result.Trial) {
	if c := t[key{mode, workload}]; c != nil {
		for _, r := range c.rows {
			if r.trial != nil {
				out = append(out, r.trial)
			}
		}
	}
	return out
}

// Values are the usable values of a metric, in order of blocks.
func (t Columns) Values(mode, workload, metric string) (out []Reading) {
	if c := t[key{mode, workload}]; c != nil {
		c.each(metric, func(r Reading) {
			if r.Value != bad {
				out = append(slices.Grow(out, len(c.rows)-len(out)), r)
			}
		})
	}
	return out
}

// setupOf is the number of a trial's set-up. Programs before it was recorded told nothing of set-ups: each block then has
// one of its own.
func setupOf(t *result.Trial) int {
	if t.Setup > 0 {
		return t.Setup
	}
	return -t.Block
}

// LeftOut warns of the values that are left out: of unknown metrics, one warning for each,
// and negative or non-finite values, one for each cell.
func (t Columns) LeftOut(modes []result.Mode, workloads []string, metrics []result.Metric) []result.Warning {
	var unknown []string
	var out []result.Warning
	for _, w := range workloads {
		for _, m := range modes {
			c := t[key{m.ID, w}]
			if c == nil {
				continue
			}
			for _, name := range c.names {
				if c.has(name) && !slices.ContainsFunc(metrics, func(m result.Metric) bool { return m.Name == name }) {
					unknown = append(unknown, name)
				}
			}
			for _, metric := range metrics {
				if n := c.bad(metric.Name); n > 0 {
					out = append(out, warning.New(warning.BadValue, Scope(m.ID, w, metric.Name),
						"%d negative or non-finite values are left out of this cell", warning.Said(n)))
				}
			}
		}
	}
	slices.Sort(unknown)
	for _, name := range slices.Compact(unknown) {
		out = append(out, warning.New(warning.UnknownMetric, "run",
			"this version of tare does not know the metric %q: its values are left out", name))
	}
	return out
}

// Scope is the scope of a warning, of what it is about: "netns/bridge tcp_rr".
func Scope(parts ...string) string { return strings.Join(parts, " ") }

// Counted says for each trial whether it counts in a cell: ok, of a measured mode, no pilot,
// and the last of its block.
func Counted(modes []result.Mode, trials []result.Trial) []bool {
	var workloads []string
	for _, t := range trials {
		if !slices.Contains(workloads, t.Workload) {
			workloads = append(workloads, t.Workload)
		}
	}
	counts := map[*result.Trial]bool{}
	for _, c := range Tabulate(modes, workloads, trials) {
		for _, r := range c.rows {
			counts[r.trial] = true
		}
	}
	out := make([]bool, len(trials))
	for i := range trials {
		out[i] = counts[&trials[i]]
	}
	return out
}

// Limited says whether a valid trial has only a lower bound of a metric.
func (t Columns) Limited(mode, workload string, m result.Metric) bool {
	c := t[key{mode, workload}]
	return c != nil && slices.ContainsFunc(c.rows, func(r counted) bool { return r.bounds.Of(m) })
}

// Noted turns the notes of valid trials into warnings, one for each code, mode and workload,
// with the text of the first.
func (t Columns) Noted(modes []result.Mode, workloads []string) []result.Warning {
	var out []result.Warning
	for _, w := range workloads {
		for _, m := range modes {
			trials := t.Trials(m.ID, w)
			var codes []string
			first, n := map[string]result.Note{}, map[string]int{}
			for _, trial := range trials {
				var seen []string
				for _, note := range trial.Notes {
					if _, known := first[note.Code]; !known {
						first[note.Code] = note
						codes = append(codes, note.Code)
					}
					if !slices.Contains(seen, note.Code) {
						seen = append(seen, note.Code)
						n[note.Code]++
					}
				}
			}
			for _, code := range codes {
				text := first[code].Text
				if len(trials) > 1 {
					text = fmt.Sprintf("%s (first of %d in %d trials)", text, n[code], len(trials))
				}
				out = append(out, result.Warning{Code: code, Scope: Scope(m.ID, w), Text: text, Values: first[code].Values})
			}
		}
	}
	return out
}
