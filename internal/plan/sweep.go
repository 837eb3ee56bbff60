package plan

import (
	"slices"
	"strconv"

	"tare/internal/study"
	"tare/internal/study/published"
	"tare/internal/study/quantity"
)

// variant is a workload of a study at one value of its sweep, with the text of that value:
// a rate, or a number of flows or streams with that word. The text is empty for a workload
// that is not a sweep.
type variant struct {
	study.Workload
	text string
}

// variants returns a workload once for each value of a sweep, and any other workload
// unchanged. The value becomes an offered rate, or the number of flows or streams, and part
// of a name that no name in a study can have: udp_sweep@200Mbit/s, tcp_rr@16flows.
func variants(w study.Workload) []variant {
	var all []variant
	for _, r := range w.Rates {
		one := w
		one.ID, one.Rate, one.Rates = at(w.Name(), r.String()), quantity.Load(r), nil
		all = append(all, variant{one, r.String()})
	}
	key, counts := w.Concurrency()
	for _, n := range counts {
		one := w
		text := strconv.Itoa(n) + key
		one.ID, one.StreamCounts, one.FlowCounts = at(w.Name(), text), nil, nil
		if key == "streams" {
			one.Streams = n
		} else {
			one.Flows = n
		}
		all = append(all, variant{one, text})
	}
	if len(all) == 0 {
		return []variant{{Workload: w}}
	}
	return all
}

// at is the name of a workload or scenario at one of the values of its sweep.
func at(name, value string) string { return name + "@" + value }

// swept returns the texts of the values of the workload of that name, none if it is not a
// sweep.
func swept(s study.Study, name string) []string {
	i := slices.IndexFunc(s.Workloads, func(w study.Workload) bool { return w.Name() == name })
	if i < 0 {
		return nil
	}
	var values []string
	for _, one := range variants(s.Workloads[i]) {
		if one.text != "" {
			values = append(values, one.text)
		}
	}
	return values
}

// Scenarios are those of a study; a scenario with a sweep appears once for each of its
// values.
func Scenarios(s study.Study) []study.Scenario {
	var all []study.Scenario
	for _, sc := range s.Scenarios {
		values := swept(s, sc.Workload)
		if len(values) == 0 {
			all = append(all, sc)
		}
		for _, v := range values {
			one := sc
			one.ID, one.Workload = at(sc.ID, v), at(sc.Workload, v)
			all = append(all, one)
		}
	}
	return all
}

// Sides returns what a comparison of these scenarios or modes compares. Each suffix is
// appended to its name: empty, or one of the values that all its sweeps have.
func Sides(s study.Study, ids ...string) (suffixes []string, sides [][]string) {
	var common []string
	var values [][]string // by id
	for _, id := range ids {
		sc, _ := s.Scenario(id)
		own := swept(s, sc.Workload)
		values = append(values, own)
		switch {
		case len(own) == 0:
		case common == nil:
			common = slices.Clone(own)
		default:
			common = slices.DeleteFunc(common, func(v string) bool { return !slices.Contains(own, v) })
		}
	}
	for _, v := range common {
		one := slices.Clone(ids)
		for i := range one {
			if len(values[i]) > 0 {
				one[i] = at(one[i], v)
			}
		}
		suffixes, sides = append(suffixes, at("", v)), append(sides, one)
	}
	if len(sides) == 0 { // no sweep, or no common value, which the result reports
		return []string{""}, [][]string{ids}
	}
	return suffixes, sides
}

// ClaimLevel is what a claim is about at one level of a sweep, nil without one: its sides, with the
// names that they have in results.
type ClaimLevel struct {
	Level    *published.Level
	Of, Over []study.Scenario
}

// ClaimLevels returns the sides of a claim at each level that its sweeps have in common.
func ClaimLevels(s study.Study, c study.Claim) []ClaimLevel {
	of, over := s.Sides(c)
	levels, sweep := s.Levels(slices.Concat(of, over))
	if !sweep {
		return []ClaimLevel{{Of: of, Over: over}}
	}
	var all []ClaimLevel
	for _, l := range levels {
		named := func(sides []study.Scenario) []study.Scenario {
			sides = slices.Clone(sides)
			for i, side := range sides {
				if len(swept(s, side.Workload)) > 0 {
					sides[i].Workload = at(side.Workload, l.String())
				}
			}
			return sides
		}
		all = append(all, ClaimLevel{&l, named(of), named(over)})
	}
	return all
}

// Concurrency is a workload of a study at several numbers of flows or streams: under which
// name each number is in results, from the lowest on.
type Concurrency struct {
	Workload string // its name in the study
	Key      string // flows or streams
	Counts   []int
	Names    []string
}

// Concurrencies are the workloads of a resolved study that have a list of at least two
// numbers of flows or streams.
func Concurrencies(s study.Study) []Concurrency {
	var out []Concurrency
	for _, w := range s.Workloads {
		key, counts := w.Concurrency()
		if len(counts) < 2 {
			continue
		}
		c := Concurrency{Workload: w.Name(), Key: key, Counts: counts}
		for _, one := range variants(w) {
			c.Names = append(c.Names, one.Name())
		}
		out = append(out, c)
	}
	return out
}
