// Package selection is what commands do alike to choose a study and where it is measured: the flags, the target with its drivers, and
// the way to it.
package selection

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"tare/internal/cli/command"
	"tare/internal/driver"
	"tare/internal/driver/setting"
	"tare/internal/hosts"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/study/suggest"
	"tare/internal/tool"
	"tare/internal/traffic/workloads"
)

// Hosts is what commands know of where to measure: the kinds of targets there are, and the one that is chosen.
type Hosts struct {
	command.Streams
	Kinds  []hosts.Kind
	Target driver.Target // that of a study or of flags; a lab until one is chosen
	// Program is the name (argument 0) by which this process's program is tare. Where labs need it, a command starts it
	// again by this name as root of a user namespace. If it is "", such a command fails instead.
	Program string
	// Look finds out what this machine has, for a run that names neither a study nor hosts.
	Look func(context.Context) hosts.Found

	Args []string // of this program
}

// New returns all kinds of targets, of which a lab is chosen.
func New(s command.Streams) Hosts {
	return Hosts{Streams: s, Kinds: hosts.Kinds(), Look: hosts.Look}.On(study.Target{}, hosts.Options{})
}

// isTarget reports whether a name is well-formed as one of a kind that checks its names
// itself.
func (h Hosts) isTarget(name string) bool {
	return slices.ContainsFunc(h.Kinds, func(k hosts.Kind) bool { return k.WellFormed != nil && k.WellFormed(name) })
}

// On returns the hosts of a target. The study reports an unknown kind, with its line.
func (h Hosts) On(t study.Target, o hosts.Options) Hosts {
	if k, err := hosts.FindKind(h.Kinds, t); err == nil {
		h.Target = k.New(t, o)
	}
	return h
}

// Catalog is what a study can name.
func (h Hosts) Catalog() study.Catalog {
	c := study.Catalog{Target: h.isTarget, Metric: unitOf, Lacks: tool.Problems, Shared: h.Target.Shared, Restricted: h.Target.Restricted}
	for _, m := range h.Target.Drivers.Modes() {
		c.Modes = append(c.Modes, study.Offer{ID: m.ID, Baseline: m.Baseline, Limits: m.Limits, Options: m.Options, MTU: m.MTU, Headers: m.Headers, Bounded: m.Bounded, MaxMTU: m.MaxMTU, Engine: m.Engine, With: setting.SpecsOf(m), TimesSetup: m.TimesSetup, Events: m.Events})
	}
	for _, id := range slices.Sorted(maps.Keys(h.Target.Unavailable)) {
		c.Modes = append(c.Modes, study.Offer{ID: id, Absent: h.Target.Unavailable[id], Removed: hosts.Removed(id)})
	}
	for _, w := range workloads.Offered() {
		spec := w.Spec().WorkloadSpec
		spec.Tools = tool.ForWorkload(spec.Kind)
		c.Workloads = append(c.Workloads, spec)
	}
	return c
}

// unitOf is the unit of the metric of that name.
func unitOf(metric string) (unit string, known bool) {
	m, known := result.MetricNamed(metric)
	return m.Unit, known
}

// Chosen are the modes named, or all that there are.
func (h Hosts) Chosen(names []string) ([]string, error) {
	if len(names) == 0 {
		return h.offered(), nil
	}
	for _, n := range names {
		if _, err := h.Mode(n); err != nil {
			return nil, command.Usage(err)
		}
	}
	return names, nil
}

// offered are the modes of the target.
func (h Hosts) offered() []string {
	return command.Names(h.Target.Drivers.Modes(), func(m driver.Mode) string { return m.ID })
}

// Mode returns a mode of the target. If only others have it, the error says which; if none has, what was probably meant.
func (h Hosts) Mode(name string) (driver.Mode, error) {
	_, m, err := h.Target.Drivers.For(name)
	if err == nil {
		return m, nil
	}
	if spec, known := h.Catalog().Mode(name); known {
		return m, fmt.Errorf("%s: %s", name, spec.Absent)
	}
	if meant := suggest.Meant(name, h.offered()); meant != "" {
		return m, fmt.Errorf("%w; did you mean %s? tare modes lists the modes", err, meant)
	}
	return m, fmt.Errorf("%w; tare modes lists the modes", err)
}

// Resumed reads the study of a run that is to go on, and returns the hosts of
// its target.
func (h Hosts) Resumed(path string, allowSwarm bool) (Hosts, study.Study, error) {
	name := filepath.Join(path, store.StudyFile)
	src, err := store.ReadStudy(path)
	if err != nil {
		return h, study.Study{}, command.Usage(fmt.Errorf("resume %s: %w", path, err))
	}
	h = h.On(studyfile.TargetOf(src), hosts.Options{AllowSwarm: allowSwarm})
	s, err := studyfile.Decode(name, src, h.Catalog())
	if err == nil {
		s, err = study.Resolve(s, h.Catalog())
	}
	if err == nil && s.Seed == 0 {
		err = fmt.Errorf("%s:1: the study of a run requires a seed", name)
	}
	if err != nil {
		return h, s, command.Usage(err)
	}
	return h, s, nil
}

// ModeNames are the modes that a study can name.
func (h Hosts) ModeNames() []string {
	return command.Names(h.Catalog().Modes, func(o study.Offer) string { return o.ID })
}
