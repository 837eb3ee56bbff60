package plan

import (
	"slices"

	"tare/internal/study"
)

// rates returns a workload once for each load of a sweep, and any other workload
// unchanged. The load becomes an offered rate, and part of a name that no name in a study
// can have: udp_sweep@200Mbit/s.
func rates(w study.Workload) []study.Workload {
	if len(w.Rates) == 0 {
		return []study.Workload{w}
	}
	var all []study.Workload
	for _, r := range w.Rates {
		one := w
		one.ID, one.Rate, one.Rates = at(w.Name(), r), study.Load(r), nil
		all = append(all, one)
	}
	return all
}

// at is the name of a workload at one of its rates.
func at(name string, r study.Rate) string { return name + "@" + r.String() }

// swept returns the rates of the workload of that name, none if it is not a sweep.
func swept(s study.Study, name string) study.Rates {
	i := slices.IndexFunc(s.Workloads, func(w study.Workload) bool { return w.Name() == name })
	if i < 0 {
		return nil
	}
	return s.Workloads[i].Rates
}

// Scenarios are those of a study; a scenario with a sweep appears once for each of its
// rates.
func Scenarios(s study.Study) []study.Scenario {
	var all []study.Scenario
	for _, sc := range s.Scenarios {
		loads := swept(s, sc.Workload)
		if len(loads) == 0 {
			all = append(all, sc)
		}
		for _, r := range loads {
			one := sc
			one.ID, one.Workload = at(sc.ID, r), at(sc.Workload, r)
			all = append(all, one)
		}
	}
	return all
}

// Sides returns what a comparison of these scenarios or modes compares. Each suffix is
// appended to its name: empty, or one of the rates that all its sweeps have.
func Sides(s study.Study, ids ...string) (suffixes []string, sides [][]string) {
	var common study.Rates
	var loads []study.Rates // by id
	for _, id := range ids {
		sc, _ := s.Scenario(id)
		own := swept(s, sc.Workload)
		loads = append(loads, own)
		switch {
		case len(own) == 0:
		case common == nil:
			common = slices.Clone(own)
		default:
			common = slices.DeleteFunc(common, func(r study.Rate) bool { return !slices.Contains(own, r) })
		}
	}
	for _, r := range common {
		one := slices.Clone(ids)
		for i := range one {
			if len(loads[i]) > 0 {
				one[i] = at(one[i], r)
			}
		}
		suffixes, sides = append(suffixes, at("", r)), append(sides, one)
	}
	if len(sides) == 0 { // no sweep, or no common rate, which the result reports
		return []string{""}, [][]string{ids}
	}
	return suffixes, sides
}
