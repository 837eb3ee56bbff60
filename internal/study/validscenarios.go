package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// lacks notes a key that an item must have and has not, or not with a text.
func (v *validator) lacks(path, key, value, what string) bool {
	if !v.readable(path + "." + key) {
		return true
	}
	if value != "" {
		return false
	}
	v.add(v.key(path, key), "%s; want the key %s with a text", what, key)
	return true
}

func (v *validator) scenarios(s Study) {
	modes, workloads, first := named(s, v.cat), s.Names(), map[string]string{}
	for i, sc := range s.Scenarios {
		path := fmt.Sprintf("scenarios[%d]", i)
		if !v.readable(path) {
			continue
		}
		v.all(sc, path+".")
		if !v.lacks(path, "id", sc.ID, "a scenario without its id") {
			if before, again := first[sc.ID]; again {
				v.add(path+".id", "duplicate scenario %q%s", sc.ID, v.already(before))
			} else {
				first[sc.ID] = path + ".id"
			}
			if slices.Contains(modes, sc.ID) {
				v.add(path+".id", "id %q is the name of a mode, and compare could not tell them apart; choose one that is not", sc.ID)
			}
		}
		if !v.lacks(path, "mode", sc.Mode, "a scenario without its mode") {
			v.among(path+".mode", "mode", sc.Mode, modes, "modes")
		}
		if !v.lacks(path, "workload", sc.Workload, "a scenario without its workload") {
			v.among(path+".workload", "workload", sc.Workload, workloads, "workloads")
		}
	}
}

// named lists the modes of a study by name, baselines included; none where the
// command line is to say which.
func named(s Study, cat Catalog) []string {
	s.Modes = withBaselines(s.Modes, cat)
	return s.ModeNames()
}

// among notes a name that the study does not have under the key of. A study that
// has nothing there gets it from the command line.
func (v *validator) among(path, what, name string, names []string, of string) {
	if len(names) == 0 || slices.Contains(names, name) {
		return
	}
	text := unknown(what, name, "", names)
	v.add(path, "%s", strings.Replace(text, "unknown "+what+" "+quote(name), fmt.Sprintf("%s %s is not under %s of this study", what, quote(name), of), 1))
}

func (v *validator) compare(s Study) {
	modes, first := named(s, v.cat), map[string]string{}
	names := slices.Clone(modes)
	for _, sc := range s.Scenarios {
		if sc.ID != "" && !slices.Contains(names, sc.ID) {
			names = append(names, sc.ID)
		}
	}
	for i, c := range s.Compare {
		path := fmt.Sprintf("compare[%d]", i)
		if !v.readable(path) {
			continue
		}
		v.all(c, path+".")
		noA := v.lacks(path, "a", c.A, "a comparison without its a")
		noB := v.lacks(path, "b", c.B, "a comparison without its b")
		if noA || noB {
			continue
		}
		bad := false
		for _, side := range []struct{ key, value string }{{"a", c.A}, {"b", c.B}} {
			if len(modes) > 0 && !slices.Contains(names, side.value) {
				v.add(path+"."+side.key, "%s", unknown("scenario or mode", side.value, "", names))
				bad = true
			}
		}
		switch {
		case bad:
		case c.A == c.B:
			v.add(path+".b", "%s is compared with itself", quote(c.A))
		default:
			v.comparable(path, s, c)
		}
		if before, again := first[c.Name()]; again {
			v.add(v.key(path, "id"), "duplicate comparison %s%s", quote(c.Name()), v.already(before))
			continue
		}
		first[c.Name()] = path
	}
}

// comparable notes two scenarios whose workloads measure different things, and two
// that are one under different names.
func (v *validator) comparable(path string, s Study, c Comparison) {
	a, okA := s.Scenario(c.A)
	b, okB := s.Scenario(c.B)
	if !okA || !okB {
		return
	}
	if a.Mode == b.Mode && a.Workload == b.Workload {
		v.add(path+".b", "scenarios %q and %q are the same: %s with %s", c.A, c.B, a.Mode, a.Workload)
		return
	}
	first, second := v.metric(s, a.Workload), v.metric(s, b.Workload)
	if first != "" && second != "" && first != second {
		v.add(path+".b", "scenario %q measures %s and %q %s: there is nothing to compare", c.A, first, c.B, second)
	}
}

// metric is the main figure of the workload of that name, nothing where that is
// unknown.
func (v *validator) metric(s Study, name string) string {
	for _, w := range s.Workloads {
		if w.Name() == name {
			spec, _ := v.cat.Workload(w.Kind)
			return spec.Metric
		}
	}
	return ""
}
