package view

import (
	"slices"

	"tare/internal/result"
)

// family is a baseline and the modes compared with it, the baseline first. The family without
// a base holds modes without a baseline.
type family struct {
	base  string
	modes []result.Mode
}

// familiesOf sorts the modes of a run by their baseline, otherwise in the order of the run.
// Modes that appear in trials or cells only, because the run ended before it listed them, are
// last.
func familiesOf(in Input) []family {
	modes := slices.Clone(in.Run.Modes)
	known := map[string]bool{}
	for _, m := range modes {
		known[m.ID] = true
	}
	add := func(id string) {
		if !known[id] {
			known[id] = true
			modes = append(modes, result.Mode{ID: id})
		}
	}
	for _, c := range in.Run.Cells {
		add(c.Mode)
	}
	for _, t := range in.Trials {
		add(t.Mode)
	}
	var out []family
	families := map[string]int{}
	for _, m := range modes {
		base := m.Baseline
		if base == "" {
			base = m.ID
		}
		i, ok := families[base]
		if !ok {
			i = len(out)
			families[base], out = i, append(out, family{base: base})
		}
		at := len(out[i].modes)
		if m.ID == base {
			at = 0
		}
		out[i].modes = slices.Insert(out[i].modes, at, m)
	}
	return gather(out)
}

// gather moves the modes without a baseline to the end, in one family.
func gather(families []family) []family {
	var out []family
	var alone family
	for _, f := range families {
		if f.compared() {
			out = append(out, f)
		} else {
			alone.modes = append(alone.modes, f.modes...)
		}
	}
	if len(alone.modes) > 0 {
		out = append(out, alone)
	}
	return out
}

// compared reports whether a mode is compared with the baseline.
func (f family) compared() bool {
	return f.base != "" && slices.ContainsFunc(f.modes, func(m result.Mode) bool { return m.ID != f.base })
}

// heading names a family where there are several.
func (f family) heading(families int) string {
	switch {
	case families < 2:
		return ""
	case !f.compared():
		return "not compared"
	}
	return "compared with " + f.base
}
