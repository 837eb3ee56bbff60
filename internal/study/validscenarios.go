package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/study/suggest"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// lacks reports a required key of an item that is missing or empty.
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
		v.all(sc.Fields(), path+".")
		if !v.lacks(path, "id", sc.ID, "scenario without id") {
			if before, again := first[sc.ID]; again {
				v.add(path+".id", "duplicate scenario %q%s", sc.ID, v.already(before))
			} else {
				first[sc.ID] = path + ".id"
			}
			if slices.Contains(modes, sc.ID) {
				v.add(path+".id", "id %q is the name of a mode, which makes compare ambiguous; choose another id", sc.ID)
			}
		}
		if !v.lacks(path, "mode", sc.Mode, "scenario without mode") {
			v.among(path+".mode", "mode", sc.Mode, modes, "modes")
		}
		if !v.lacks(path, "workload", sc.Workload, "scenario without workload") {
			v.among(path+".workload", "workload", sc.Workload, workloads, "workloads")
		}
	}
}

// named lists the modes of a study by name, baselines and the control included; none if
// the command line selects them.
func named(s Study, cat Catalog) []string {
	s.Modes = complete(s, cat)
	return s.ModeNames()
}

// among reports a name that the study does not contain. If the study has no list of that
// kind, the command line provides it.
func (v *validator) among(path, what, name string, names []string, of string) {
	if len(names) == 0 || slices.Contains(names, name) {
		return
	}
	text := suggest.Unknown(what, name, "", names)
	v.add(path, "%s", strings.Replace(text, "unknown "+what+" "+suggest.Quote(name), fmt.Sprintf("%s %s is not under %s of this study", what, suggest.Quote(name), of), 1))
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
		v.all(c.Fields(), path+".")
		noA := v.lacks(path, "a", c.A.Of, "comparison without a")
		noB := v.lacks(path, "b", c.B.Of, "comparison without b")
		if noA || noB {
			continue
		}
		bad := false
		for _, side := range []struct {
			key string
			of  Side
		}{{"a", c.A}, {"b", c.B}} {
			for _, name := range side.of.Names() {
				if len(modes) > 0 && !slices.Contains(names, name) {
					v.add(path+"."+side.key, "%s", suggest.Unknown("scenario or mode", name, "", names))
					bad = true
				}
			}
			if side.of.Of == side.of.Over {
				v.add(path+"."+side.key, "%s is divided by itself", suggest.Quote(side.of.Of))
				bad = true
			}
		}
		switch {
		case bad:
		case c.A == c.B:
			v.add(path+".b", "%s is compared with itself", suggest.Quote(c.A.String()))
		case c.A.IsRatio() != c.B.IsRatio():
			v.add(path+".b", "one side is a ratio and the other is not; want a name on both sides, or a list of two on both")
		case c.A.IsRatio():
			v.comparable(path, "a", s, c.A.Of, c.A.Over)
			v.comparable(path, "b", s, c.B.Of, c.B.Over)
		default:
			v.comparable(path, "b", s, c.A.Of, c.B.Of)
		}
		if before, again := first[c.Name()]; again {
			v.add(v.key(path, "id"), "duplicate comparison %s%s", suggest.Quote(c.Name()), v.already(before))
			continue
		}
		first[c.Name()] = path
	}
}

// comparable reports two scenarios whose workloads have different metrics, and two names
// of the same scenario.
func (v *validator) comparable(path, key string, s Study, nameA, nameB string) {
	a, okA := s.Scenario(nameA)
	b, okB := s.Scenario(nameB)
	if !okA || !okB {
		return
	}
	if a.Mode == b.Mode && a.Workload == b.Workload {
		v.add(path+"."+key, "scenarios %q and %q are the same: %s with %s", nameA, nameB, a.Mode, a.Workload)
		return
	}
	first, second := v.metric(s, a.Workload), v.metric(s, b.Workload)
	if first != "" && second != "" && first != second {
		v.add(path+"."+key, "scenario %q measures %s and %q %s: they cannot be compared", nameA, first, nameB, second)
	}
}

// metric is the main metric of the workload of that name, empty if unknown.
func (v *validator) metric(s Study, name string) string {
	for _, w := range s.Workloads {
		if w.Name() == name {
			spec, _ := v.cat.Workload(w.Kind)
			return spec.Metric
		}
	}
	return ""
}
