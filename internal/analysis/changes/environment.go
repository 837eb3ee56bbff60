package changes

import (
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/identity"
	"tare/internal/result"
)

// Environment lists the differences between the environments of two runs: the version of
// tare, the facts of the hosts, and those of the modes that both have. Facts that vary from
// moment to moment, such as the load, are left out.
func Environment(before, after result.Run) []result.Difference {
	out := []result.Difference{}
	add := func(scope, name, was, is string) {
		if was != is {
			out = append(out, result.Difference{Scope: scope, Name: name, Before: was, After: is})
		}
	}
	add("tare", "version", before.Tare.Version, after.Tare.Version)
	for _, h := range before.Hosts {
		i := slices.IndexFunc(after.Hosts, func(o result.Host) bool { return o.Name == h.Name })
		if i < 0 {
			add("host "+h.Name, "", "there", "")
			continue
		}
		differing(h.Facts, after.Hosts[i].Facts, func(name, was, is string) { add("host "+h.Name, name, was, is) })
	}
	for _, h := range after.Hosts {
		if !slices.ContainsFunc(before.Hosts, func(o result.Host) bool { return o.Name == h.Name }) {
			add("host "+h.Name, "", "", "there")
		}
	}
	for _, m := range before.Modes {
		i := slices.IndexFunc(after.Modes, func(o result.Mode) bool { return o.ID == m.ID })
		if i >= 0 {
			differing(m.Facts, after.Modes[i].Facts, func(name, was, is string) { add("mode "+m.ID, name, was, is) })
		}
	}
	return out
}

// differing calls tell for each fact that differs between two lists, in the order of the first.
func differing(before, after []result.Fact, tell func(name, was, is string)) {
	value := func(fs []result.Fact, name string) string {
		var vs []string
		for _, f := range fs {
			if f.Name == name {
				vs = append(vs, f.Value)
			}
		}
		return strings.Join(vs, "; ")
	}
	told := map[string]bool{}
	for _, f := range slices.Concat(before, after) {
		if !told[f.Name] && !momentary(f.Name) {
			told[f.Name] = true
			tell(f.Name, value(before, f.Name), value(after, f.Name))
		}
	}
}

// momentary says whether a fact varies from moment to moment.
func momentary(name string) bool {
	return strings.HasPrefix(name, "load") || strings.HasSuffix(name, "_now") || name == "made" || name == "memory_available" || name == identity.ClockOffset || name == "boot_id" || identity.Calibrated(name)
}

// ModeChanges lists the modes whose status differs between two runs.
func ModeChanges(before, after result.Run) []result.ModeChange {
	out := []result.ModeChange{}
	for _, m := range before.Modes {
		c := result.ModeChange{Mode: m.ID, Before: m.Status}
		if i := slices.IndexFunc(after.Modes, func(o result.Mode) bool { return o.ID == m.ID }); i >= 0 {
			c.After, c.Reason = after.Modes[i].Status, after.Modes[i].Reason
		}
		if c.Before != c.After {
			out = append(out, c)
		}
	}
	for _, m := range after.Modes {
		if !slices.ContainsFunc(before.Modes, func(o result.Mode) bool { return o.ID == m.ID }) {
			out = append(out, result.ModeChange{Mode: m.ID, After: m.Status, Reason: m.Reason})
		}
	}
	return out
}

// Missing lists the pairs of a mode and a workload that are among those before and not among those after, if the later
// run measured the mode; without the mode if none of the pairs after has the workload.
func Missing(before, after []result.Pair, later []result.Mode) []result.Pair {
	measured, now, workloads := map[string]bool{}, map[result.Pair]bool{}, map[string]bool{}
	for _, m := range later {
		measured[m.ID] = m.Status == result.ModeMeasured
	}
	for _, p := range after {
		now[p], workloads[p.Workload] = true, true
	}
	var out []result.Pair
	told := map[result.Pair]bool{}
	for _, p := range before {
		switch {
		case now[p]:
			continue
		case !workloads[p.Workload]:
			p.Mode = ""
		case !measured[p.Mode]:
			continue
		}
		if !told[p] {
			told[p] = true
			out = append(out, p)
		}
	}
	return out
}

// pairsOf lists the pairs that have values in a run, in the order of its cells.
func pairsOf(r result.Run) []result.Pair {
	var out []result.Pair
	for _, c := range r.Cells {
		if c.N > 0 {
			out = append(out, result.Pair{Mode: c.Mode, Workload: c.Workload})
		}
	}
	return out
}

func refTo(r result.Run) result.RunRef {
	return result.RunRef{ID: r.ID, Started: r.Started.Format(time.RFC3339), Status: r.Status, Profile: r.Profile, Tare: r.Tare}
}
