package model

import (
	"slices"

	"tare/internal/result"
)

// Family is a baseline and the modes compared with it, the baseline first. The family without
// a base holds modes without a baseline.
type Family struct {
	Base  string
	Modes []result.Mode
}

// FamiliesOf sorts the modes of a run by their baseline, otherwise in the order of the run.
// Modes that appear in trials or cells only, because the run ended before it listed them, are
// last.
func FamiliesOf(in Input) []Family {
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
	var out []Family
	families := map[string]int{}
	for _, m := range modes {
		base := m.Baseline
		if base == "" {
			base = m.ID
		}
		i, ok := families[base]
		if !ok {
			i = len(out)
			families[base], out = i, append(out, Family{Base: base})
		}
		at := len(out[i].Modes)
		if m.ID == base {
			at = 0
		}
		out[i].Modes = slices.Insert(out[i].Modes, at, m)
	}
	return gather(out)
}

// gather moves the modes without a baseline to the end, in one family.
func gather(families []Family) []Family {
	var out []Family
	var alone Family
	for _, f := range families {
		if f.Compared() {
			out = append(out, f)
		} else {
			alone.Modes = append(alone.Modes, f.Modes...)
		}
	}
	if len(alone.Modes) > 0 {
		out = append(out, alone)
	}
	return out
}

// Compared reports whether a mode is compared with the baseline.
func (f Family) Compared() bool {
	return f.Base != "" && slices.ContainsFunc(f.Modes, func(m result.Mode) bool { return m.ID != f.Base })
}

// Heading names a family where there are several.
func (f Family) Heading(families int) string {
	switch {
	case families < 2:
		return ""
	case !f.Compared():
		return "not compared"
	}
	return "compared with " + f.Base
}
