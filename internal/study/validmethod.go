package study

import (
	"fmt"
	"time"

	"tare/internal/study/quantity"
)

// ControlID is the name in results of the second copy of the baseline.
const ControlID = "control"

// ShortestPilot is the minimum length in which a steady part can be found.
const ShortestPilot = quantity.Duration(time.Second)

// method checks the keys for measuring and stopping.
func (v *validator) method(s Study) {
	v.all(s.Invalid.Fields(), "invalid.")
	if s.Pilot.For > 0 && s.Pilot.For < ShortestPilot && v.readable("pilot") {
		v.add("pilot", "pilot is %s; want 0s for none, or at least %s", s.Pilot, ShortestPilot)
	}
	if s.Stop != nil {
		v.all(s.Stop.Fields(), "stop.")
		if n := s.Stop.MinBlocks; s.Blocks > 0 && n > s.Blocks {
			v.add(v.key("stop", "min_blocks"), "min_blocks is %d, but blocks is %d; want at most blocks", n, s.Blocks)
		}
	}
	if !s.Control {
		return
	}
	for i, m := range s.Modes {
		if want, ok := controlOf(s.Modes, v.cat); ok && m.Name() == ControlID && m.Mode != want.Mode {
			v.add(v.key(fmt.Sprintf("modes[%d]", i), "id"), "mode %q has the name of the control of this study; choose another id, or remove control", ControlID)
		}
	}
}

// lengths checks that the bounds of a workload's timed window are consistent.
func (v *validator) lengths(prefix string, w Workload) {
	low, high, at := w.DurationMin, w.DurationMax, w.Duration
	switch {
	case low > 0 && high > 0 && low > high:
		v.add(prefix+"duration_min", "duration_min is %s and duration_max %s; want duration_min at most duration_max", low, high)
	case at > 0 && low > at:
		v.add(prefix+"duration_min", "duration_min is %s and duration %s; want duration_min at most duration", low, at)
	case at > 0 && high > 0 && high < at:
		v.add(prefix+"duration_max", "duration_max is %s and duration %s; want duration_max at least duration", high, at)
	}
}

// lab checks the lab of a mode.
func (v *validator) lab(path string, m Mode, e Target) {
	if m.Lab == nil {
		return
	}
	v.all(m.Lab.Fields(), path+".lab.")
	if e.Given() {
		v.add(v.key(path, "lab"), "lab describes hosts that tare creates, but this study names existing ones (%s); remove one of the two", e)
	}
}

// controlOf is the control: a copy of the baseline of the first mode that has one, else
// of the first mode. ok is false if no such mode can be built.
func controlOf(modes []Mode, cat Catalog) (Mode, bool) {
	s := Study{Modes: withBaselines(modes, cat)}
	for _, m := range s.Modes {
		spec, known := cat.Mode(m.Mode)
		if !known || spec.Absent != "" || spec.Baseline == "" && s.hasCompared(cat) {
			continue
		}
		base := m
		if spec.Baseline != "" {
			found, ok := s.ModeNamed(s.NameOf(spec.Baseline))
			if !ok {
				continue
			}
			base = found
		}
		base.ID, base.Title = ControlID, "second copy of the baseline, as a control"
		return base, true
	}
	return Mode{}, false
}

// hasCompared reports whether any mode of s is compared with another.
func (s Study) hasCompared(cat Catalog) bool {
	for _, m := range s.Modes {
		if spec, ok := cat.Mode(m.Mode); ok && spec.Baseline != "" && spec.Absent == "" {
			return true
		}
	}
	return false
}

// complete returns the modes of s with those that are added automatically: the baselines
// and, if requested, the control, which comes last.
func complete(s Study, cat Catalog) []Mode {
	modes := withBaselines(s.Modes, cat)
	if _, there := s.ModeNamed(ControlID); !s.Control || there {
		return modes
	}
	if c, ok := controlOf(modes, cat); ok {
		modes = append(modes, c)
	}
	return modes
}
