package study

import (
	"slices"
	"time"
)

// Catalog is what there is to choose from. The registries fill it, so that this
// package knows no driver and no traffic.
type Catalog struct {
	Modes     []ModeSpec
	Workloads []WorkloadSpec
	// Target reports whether a name is that of a target which the rule of a study's
	// engine key does not know. It may be nil: there are none.
	Target func(name string) bool
}

// ModeSpec is a mode's id and the id of its baseline, empty for a baseline.
type ModeSpec struct {
	ID       string
	Baseline string
	Limits   Ends // that can be limited: an engine makes their sandboxes
	Options  bool // takes options
	MTU      bool // takes an MTU for the inside of its tunnel
	// Absent says why a known mode is not to be had on the engine that the study
	// names, empty where it is.
	Absent string
}

// WorkloadSpec is a workload kind: the YAML keys it takes besides id and
// workload, the defaults of those, and its lengths by profile.
type WorkloadSpec struct {
	Kind     string
	Params   []string
	Optional []string // keys it takes too, which no default fills
	Defaults Workload
	Profiles map[string]Workload // defaults that a profile has of its own, by its name
	Lengths  map[string]Length
	// Goals are defaults by the value of goal, which go before those of the profile.
	Goals map[string]Workload
	// Directions are the values of direction it knows; forward and reverse where
	// there are none.
	Directions []string
	// ReverseWhole says that the workload cannot take turns when the server sends.
	ReverseWhole bool
	// Tools are the external generators that can make this traffic.
	Tools []string
	// Bulk workloads need time to fill a slow path: on an underlay with a rate
	// limit their default is one piece, with a warm-up of at least BulkWarmup.
	Bulk bool
	// Metric is the workload's main figure, as results name it: workloads that
	// differ in it have nothing to compare.
	Metric string
}

// BulkWarmup is the least default warm-up of a bulk workload in one piece on an
// underlay with a rate limit, and WholeWarmup the least of one in one piece for
// another reason. Of trials in turns each slice warms up by itself.
const (
	BulkWarmup  = Duration(time.Second)
	WholeWarmup = Duration(500 * time.Millisecond)
)

// Length is how long a trial's warm-up and timed window last, and the slices that
// it is cut into; without a Slice it is driven all at once.
type Length struct {
	Warmup, Duration, Slice Duration
}

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

// modeIDs lists the modes that can be measured.
func (c Catalog) modeIDs() []string {
	ids := make([]string, 0, len(c.Modes))
	for _, m := range c.Modes {
		if m.Absent == "" {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// Kinds lists the kinds of workloads.
func (c Catalog) Kinds() []string {
	kinds := make([]string, 0, len(c.Workloads))
	for _, w := range c.Workloads {
		kinds = append(kinds, w.Kind)
	}
	return kinds
}

// Keys lists all that a workload of this kind may hold.
func (w WorkloadSpec) Keys() []string {
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
