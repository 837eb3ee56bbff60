package result

import (
	"fmt"
	"slices"
	"strings"
)

// table holds the trials that count, by mode and workload, in order of blocks.
type table map[string][]Trial

// reading is one trial's value of one metric.
type reading struct {
	block int
	value float64
}

// tabulate picks the trials that count in a cell of these modes and workloads and
// warns of values that cannot be used.
func tabulate(measured []Mode, workloads []string, trials []Trial) (table, []Warning) {
	tab := table{}
	for _, t := range trials {
		if t.Status != TrialOK || !slices.Contains(workloads, t.Workload) ||
			!slices.ContainsFunc(measured, func(m Mode) bool { return m.ID == t.Mode }) {
			continue
		}
		key := cellKey(t.Mode, t.Workload)
		i, again := slices.BinarySearchFunc(tab[key], t, func(a, b Trial) int { return a.Block - b.Block })
		if again {
			tab[key][i] = t
		} else {
			tab[key] = slices.Insert(tab[key], i, t)
		}
	}
	return tab, tab.warnings(measured, workloads)
}

// cellKey joins two ids by what neither can hold.
func cellKey(mode, workload string) string { return mode + "\x00" + workload }

func (t table) has(mode, workload string) bool { return len(t[cellKey(mode, workload)]) > 0 }

// values are the usable values of a metric, in order of blocks.
func (t table) values(mode, workload, metric string) []reading {
	var out []reading
	for _, trial := range t[cellKey(mode, workload)] {
		if v, ok := trial.Metrics[metric]; ok && usable(v) {
			out = append(out, reading{trial.Block, v})
		}
	}
	return out
}

// usable is what a metric may be: every one of them is a rate, a time, a count or
// a share.
func usable(v float64) bool { return finite(v) && v >= 0 }

func plain(rs []reading) []float64 {
	xs := make([]float64, len(rs))
	for i, r := range rs {
		xs[i] = r.value
	}
	return xs
}

// warnings names the values that are left out: once a metric that this version
// does not know, and once a cell those that no measurement can give.
func (t table) warnings(measured []Mode, workloads []string) []Warning {
	var unknown []string
	var out []Warning
	for _, w := range workloads {
		for _, m := range measured {
			bad := map[string]int{}
			for _, trial := range t[cellKey(m.ID, w)] {
				for name, v := range trial.Metrics {
					if _, ok := MetricNamed(name); !ok {
						unknown = append(unknown, name)
					} else if !usable(v) {
						bad[name]++
					}
				}
			}
			for _, metric := range Metrics() {
				if n := bad[metric.Name]; n > 0 {
					out = append(out, Warning{"bad_value", scope(m.ID, w, metric.Name),
						fmt.Sprintf("values that are negative or no finite number are left out of this cell: %d", n)})
				}
			}
		}
	}
	slices.Sort(unknown)
	for _, name := range slices.Compact(unknown) {
		out = append(out, Warning{"unknown_metric", "run",
			fmt.Sprintf("this version of tare knows no metric %q; its values are left out", name)})
	}
	return out
}

func scope(parts ...string) string { return strings.Join(parts, " ") }

// Count tallies trials by how they ended.
func Count(trials []Trial) Tally {
	var n Tally
	for _, t := range trials {
		switch t.Status {
		case TrialOK:
			n.OK++
		case TrialInvalid:
			n.Invalid++
		case TrialFailed:
			n.Failed++
		}
	}
	return n
}
