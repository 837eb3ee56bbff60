package study

import (
	"reflect"
	"slices"
)

// Difference is a key that differs between two studies. Scope is the part that it belongs
// to: "study", "lab", "workload NAME" or "mode NAME". Before and After are the values as
// written in a study file, empty if there is none.
type Difference struct {
	Scope  string `json:"scope"`
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Decides means that results of the two must not be compared: other traffic, other
	// hosts, another network. Other differences only change the width of intervals.
	Decides bool `json:"decides"`
}

// Differences lists the differences of two resolved studies that affect results. It omits
// modes and workloads that only one of them has, names, titles, the seed and the
// requested comparisons.
func Differences(before, after Study) []Difference {
	var out []Difference
	out = diff(out, "study", before.Fields(), after.Fields(), nil, nil)
	out = diff(out, "lab", before.Lab.Fields(), after.Lab.Fields(), nil, nil)
	for _, w := range before.Workloads {
		i := slices.IndexFunc(after.Workloads, func(o Workload) bool { return o.Name() == w.Name() })
		if i >= 0 {
			out = diff(out, "workload "+w.Name(), w.Fields(), after.Workloads[i].Fields(), nil, lengths())
		}
	}
	for _, m := range before.Modes {
		i := slices.IndexFunc(after.Modes, func(o Mode) bool { return o.Name() == m.Name() })
		if i >= 0 {
			out = diff(out, "mode "+m.Name(), m.Fields(), after.Modes[i].Fields(), titles(), nil)
		}
	}
	return out
}

// titles are the descriptive keys of a mode.
func titles() []string {
	return []string{"id", "title", "description"}
}

// lengths are the keys of a workload that affect only the precision.
func lengths() []string {
	return []string{"warmup", "duration", "duration_min", "duration_max", "slice", "every", "times", "verify_with",
		"step", "step_sum", "precision", "pause", "max_search"}
}

// diff appends the keys in which two parts of a study differ. It skips those of spare,
// and those of loose do not decide.
func diff(out []Difference, scope string, before, after []Field, spare, loose []string) []Difference {
	for i, b := range before {
		a := after[i]
		if b.Effect == DecidesNothing || slices.Contains(spare, b.Key) || reflect.DeepEqual(b.Value.Get(), a.Value.Get()) {
			continue
		}
		out = append(out, Difference{Scope: scope, Key: b.Key, Before: said(b.Value), After: said(a.Value), Decides: (b.Effect == Decides || b.Effect == DecidesModes) && !slices.Contains(loose, b.Key)})
	}
	return out
}
