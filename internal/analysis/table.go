package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// table has the valid trials by mode and workload.
type table map[key]*column

type key struct{ mode, workload string }

// column is one mode with one workload: its trials in the order of blocks, one for each, and
// the usable values of each metric in the same order.
type column struct {
	trials []*result.Trial
	values map[string][]reading
	bad    map[string]int // negative or non-finite values, by metric
}

// reading is one trial's value of one metric.
type reading struct {
	block int
	value float64
}

// tabulate selects the trials that count in a cell of these modes and workloads: ok, no
// pilot, not superseded by a repeated group, and of several of one block the last.
func tabulate(modes []result.Mode, workloads []string, trials []result.Trial) table {
	tab := table{}
	for _, m := range modes {
		if m.Status != result.ModeMeasured {
			continue
		}
		for _, w := range workloads {
			tab[key{m.ID, w}] = &column{}
		}
	}
	old := result.Superseded(trials)
	for i := range trials {
		t := &trials[i]
		if t.Status != result.TrialOK || t.Aside() || old(t) {
			continue
		}
		if c := tab[key{t.Mode, t.Workload}]; c != nil {
			c.trials = append(c.trials, t)
		}
	}
	for _, c := range tab {
		c.settle()
	}
	return tab
}

// settle puts the trials in order and reads their values.
func (c *column) settle() {
	if !slices.IsSortedFunc(c.trials, byBlock) {
		slices.SortStableFunc(c.trials, byBlock)
	}
	kept := c.trials[:0]
	for i, t := range c.trials {
		if i+1 == len(c.trials) || c.trials[i+1].Block != t.Block {
			kept = append(kept, t)
		}
	}
	c.trials = kept
	c.values, c.bad = map[string][]reading{}, map[string]int{}
	for _, t := range c.trials {
		for name, v := range t.Metrics {
			if usable(v) {
				c.values[name] = append(c.values[name], reading{t.Block, v})
			} else {
				c.bad[name]++
			}
		}
	}
}

func byBlock(a, b *result.Trial) int { return a.Block - b.Block }

func (t table) has(mode, workload string) bool { return len(t.trials(mode, workload)) > 0 }

func (t table) trials(mode, workload string) []*result.Trial {
	if c := t[key{mode, workload}]; c != nil {
		return c.trials
	}
	return nil
}

// values are the usable values of a metric, in order of blocks.
func (t table) values(mode, workload, metric string) []reading {
	if c := t[key{mode, workload}]; c != nil {
		return c.values[metric]
	}
	return nil
}

// usable says whether a metric can have a value: each is a rate, a time, a count or a share.
func usable(v float64) bool { return finite(v) && v >= 0 }

func plain(rs []reading) []float64 {
	xs := make([]float64, len(rs))
	for i, r := range rs {
		xs[i] = r.value
	}
	return xs
}

// inBoth are the values of the blocks that both have.
func inBoth(own, base []reading) (x, b []float64) {
	eachInBoth(own, base, func(own, base reading) { x, b = append(x, own.value), append(b, base.value) })
	return x, b
}

// ratios are the ratios of the values in each block that both have.
func ratios(own, base []reading) (out []reading) {
	eachInBoth(own, base, func(own, base reading) { out = append(out, reading{own.block, own.value / base.value}) })
	return out
}

func eachInBoth(own, base []reading, do func(own, base reading)) {
	for i, j := 0, 0; i < len(own) && j < len(base); {
		switch {
		case own[i].block < base[j].block:
			i++
		case own[i].block > base[j].block:
			j++
		default:
			do(own[i], base[j])
			i, j = i+1, j+1
		}
	}
}

// leftOut warns of the values that are left out: of unknown metrics, one warning for each,
// and negative or non-finite values, one for each cell.
func (t table) leftOut(in Input) []result.Warning {
	var unknown []string
	var out []result.Warning
	for _, w := range in.Workloads {
		for _, m := range in.Modes {
			c := t[key{m.ID, w}]
			if c == nil {
				continue
			}
			for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(c.values)), maps.Keys(c.bad)) {
				if !slices.ContainsFunc(in.Metrics, func(m result.Metric) bool { return m.Name == name }) {
					unknown = append(unknown, name)
				}
			}
			for _, metric := range in.Metrics {
				if n := c.bad[metric.Name]; n > 0 {
					out = append(out, result.Warning{Code: string(warning.BadValue), Scope: scope(m.ID, w, metric.Name),
						Text: fmt.Sprintf("%d negative or non-finite values are left out of this cell", n)})
				}
			}
		}
	}
	slices.Sort(unknown)
	for _, name := range slices.Compact(unknown) {
		out = append(out, result.Warning{Code: string(warning.UnknownMetric), Scope: "run",
			Text: fmt.Sprintf("this version of tare does not know the metric %q: its values are left out", name)})
	}
	return out
}

func scope(parts ...string) string { return strings.Join(parts, " ") }

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
	for _, c := range tabulate(modes, workloads, trials) {
		for _, t := range c.trials {
			counts[t] = true
		}
	}
	out := make([]bool, len(trials))
	for i := range trials {
		out[i] = counts[&trials[i]]
	}
	return out
}
