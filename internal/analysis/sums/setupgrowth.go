package sums

import (
	"reflect"
	"slices"
	"strconv"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
)

// SetupGrowths returns how much longer set-ups take for each 100 of what variants of a mode have different numbers of, by
// workload. The variants are those of asked that differ in that number and in their names alone.
func SetupGrowths(modes []result.Mode, asked []study.Mode, workloads []string, trials []result.Trial) []result.SetupGrowth {
	var out []result.SetupGrowth
	for _, w := range workloads {
		for _, setting := range study.NumberSettings() {
			for _, variants := range variantsOf(modes, asked, setting) {
				if g, known := growth(variants, w, setting, trials); known {
					out = append(out, g)
				}
			}
		}
	}
	return out
}

// variant is a mode with a number of things.
type variant struct {
	id     string
	number int
	rest   study.Mode // all but number and names
}

// variantsOf groups the measured modes by all but the number of a setting. A group has at least two numbers.
func variantsOf(modes []result.Mode, asked []study.Mode, setting string) [][]variant {
	var groups [][]variant
	for _, m := range asked {
		number := 0
		rest := m
		rest.With = map[string]string{}
		for name, value := range m.With {
			if name != setting {
				rest.With[name] = value
				continue
			}
			var err error
			if number, err = strconv.Atoi(value); err != nil {
				number = -1
			}
		}
		v := variant{id: m.Name(), number: number, rest: rest}
		v.rest.ID, v.rest.Title, v.rest.Description = "", "", ""
		if number < 0 || !slices.ContainsFunc(modes, func(r result.Mode) bool { return r.ID == v.id && r.Status == result.ModeMeasured }) {
			continue
		}
		i := slices.IndexFunc(groups, func(g []variant) bool { return reflect.DeepEqual(g[0].rest, v.rest) })
		if i < 0 {
			groups = append(groups, []variant{v})
			continue
		}
		groups[i] = append(groups[i], v)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b variant) int { return a.number - b.number })
	}
	return slices.DeleteFunc(groups, func(g []variant) bool { return g[0].number == g[len(g)-1].number })
}

// growth is the slope over the set-ups of some variants, in the main metric of set-ups.
func growth(variants []variant, workload, setting string, trials []result.Trial) (result.SetupGrowth, bool) {
	const metric = result.SetupFirstByte
	g := result.SetupGrowth{Workload: workload, Metric: metric, Setting: setting}
	var numbers, times []float64
	for _, v := range variants {
		g.Modes, g.Numbers = append(g.Modes, v.id), append(g.Numbers, v.number)
		for _, t := range trials {
			if value, has := t.Metrics[metric]; has && t.Mode == v.id && t.Workload == workload && t.Status == result.TrialOK && !t.Aside() {
				numbers, times = append(numbers, float64(v.number)), append(times, value)
			}
		}
	}
	slope, known := stats.SlopeAt(numbers, times, readings.Confidence)
	const each = 100
	g.Setups, g.Per100, g.Low, g.High = len(times), each*slope.Value, each*slope.Lo, each*slope.Hi
	return g, known
}
