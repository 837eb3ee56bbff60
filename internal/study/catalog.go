package study

import "slices"

// Mode finds a mode by id, one with a name of the user's included.
func (c Catalog) Mode(id string) (ModeSpec, bool) {
	for _, m := range c.Modes {
		if Fits(m.ID, id) {
			return m, true
		}
	}
	return ModeSpec{}, false
}

// Workload finds a workload by kind.
func (c Catalog) Workload(kind string) (WorkloadSpec, bool) {
	for _, w := range c.Workloads {
		if w.Kind == kind {
			return w, true
		}
	}
	return WorkloadSpec{}, false
}

// modeIDs and kinds list what can be measured.
func (c Catalog) modeIDs() []string {
	ids := make([]string, 0, len(c.Modes))
	for _, m := range c.Modes {
		if m.Planned == "" && m.Absent == "" {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (c Catalog) kinds() []string {
	kinds := make([]string, 0, len(c.Workloads))
	for _, w := range c.Workloads {
		if w.Planned == "" {
			kinds = append(kinds, w.Kind)
		}
	}
	return kinds
}

// keys lists all that a workload of this kind may hold.
func (w WorkloadSpec) keys() []string {
	all := slices.Concat([]string{"id", "workload"}, w.Params, w.Optional)
	if slices.Contains(w.Params, "duration") {
		all = append(all, "duration_min", "duration_max")
	}
	for _, key := range []string{"every", "times"} {
		if !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}
