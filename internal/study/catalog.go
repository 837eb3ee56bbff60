package study

import (
	"slices"
	"time"

	"tare/internal/study/quantity"
)

// Catalog lists what a study can choose from. The registries fill it, so that this
// package does not depend on drivers or generators.
type Catalog struct {
	Modes     []Offer
	Workloads []WorkloadSpec
	// Shared says that the hosts serve others, too, as the nodes of a cluster do: see Resolve.
	Shared bool
	// Restricted says that an endpoint may lack the right to set any congestion control: see Resolve.
	Restricted bool
	// Target reports whether a name is a valid target that the rule of the study's engine
	// key does not cover. It may be nil: there are none.
	Target func(name string) bool
	// Metric returns the unit of a metric, and whether there is one of that name. If it is nil,
	// any name is accepted.
	Metric func(name string) (unit string, known bool)
	// Lacks returns why an external generator cannot generate the traffic of a workload: the keys that it does not
	// support, each once, with what to set instead. It may be nil: generators support all keys.
	Lacks func(tool string, w Workload) []Problem
}

// Offer is a mode's id and the id of its baseline, empty for a baseline.
type Offer struct {
	ID       string
	Baseline string
	Limits   Ends // endpoints that can be limited, because an engine creates their sandboxes
	Options  bool // takes options
	MTU      bool // takes an MTU for the inside of its tunnel
	Headers  int  // bytes that its tunnel adds to a packet, which have to fit into the underlay's MTU; 0 if larger ones are carried, too
	Bounded  bool // has no tunnel, and its MTU has to fit into the underlay's all the same
	MaxMTU   int  // the largest MTU that its software carries, whatever the underlay's is; 0 for any
	Engine   bool // is built by a private Docker Engine, which a study can choose
	With     []SettingSpec
	Events   []string // what can happen in the middle of a trial: see Workload.Event
	// TimesSetup means that the workload SetupKind can measure it.
	TimesSetup bool
	// Absent says why a known mode is not available on the engine that the study names,
	// empty if it is.
	Absent string
	// Removed means that no engine has the mode any more, and that Absent says what to use instead.
	Removed bool
}

// SettingSpec is a key that a mode's with accepts: a part that can be left out, or a
// setting.
type SettingSpec struct {
	Name string
	// Values describes the valid values, such as "on or off", and Valid checks one.
	Values string
	Valid  func(value string) bool
	// Needs is the name of a setting without which this one has no effect, or empty.
	Needs string
	// Conflict returns why the setting cannot be combined with the others, and what to set; empty if it can. It
	// may be nil.
	Conflict func(with map[string]string) string
}

// The settings of modes that are a number of things which take time to set up. A mode without the setting has none.
const (
	SettingPorts      = "ports"
	SettingContainers = "containers"
)

// NumberSettings lists them.
func NumberSettings() []string { return []string{SettingPorts, SettingContainers} }

// WorkloadSpec is a workload kind: the YAML keys it takes besides id and workload, their
// defaults, and its lengths by profile.
type WorkloadSpec struct {
	Kind     string
	Params   []string
	Optional []string // keys without a default
	Defaults Workload
	Profiles map[string]Workload // defaults of a profile, by its name
	Lengths  map[string]Length
	// Goals are defaults by the value of goal; they take precedence over those of the
	// profile.
	Goals map[string]Workload
	// Directions are the valid values of direction; forward and reverse if empty.
	Directions []string
	// ReverseWhole means that trials of the workload cannot be interleaved if the server
	// sends.
	ReverseWhole bool
	// Tools are the external generators that can generate this traffic.
	Tools []string
	// Bulk workloads need time to fill a slow path: on an underlay with a rate limit
	// their trials are not sliced by default, with a warm-up of at least BulkWarmup.
	Bulk bool
	// ManyFlows means that the workload can have up to 10000 flows, not only 1000.
	ManyFlows bool
	// FewFlows means that the workload can have at most MostTLSFlows flows, because each needs threads.
	FewFlows bool
	// Metric is the workload's main metric, under its name in results: workloads with
	// different metrics cannot be compared.
	Metric string
}

// BulkWarmup is the minimum default warm-up of a bulk workload without slices on an
// underlay with a rate limit, and WholeWarmup that of one without slices for another
// reason. In interleaved trials each slice has its own warm-up. WholeDuration is the minimum
// default duration of any workload without slices: a trial at once meets another state of the
// machine than the next one, and is not repeated as often for the time that it takes.
const (
	BulkWarmup    = quantity.Duration(time.Second)
	WholeWarmup   = quantity.Duration(500 * time.Millisecond)
	WholeDuration = quantity.Duration(1250 * time.Millisecond)
)

// EventDuration is the minimum default duration of a trial with an event in its middle: what is left of it has room for
// the second timeouts of TCP, which double from 200 ms.
const EventDuration = quantity.Duration(4 * time.Second)

// Length is the warm-up and the timed window of a trial, and its slices; without a Slice
// the trial is not interleaved.
type Length struct {
	Warmup, Duration, Slice quantity.Duration
}

// Mode finds a mode by id, including modes that contain a user's name.
func (c Catalog) Mode(id string) (Offer, bool) {
	for _, m := range c.Modes {
		if Fits(m.ID, id) {
			return m, true
		}
	}
	return Offer{}, false
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

// KeyText describes a key of a workload for readers.
type KeyText struct {
	Key     string
	Default string // as a study says it; "by profile", or empty for none
	Doc     string
}

// Described lists the keys of the workload but its name, in the order of a study's keys.
func (s WorkloadSpec) Described() []KeyText {
	defaults := map[string]string{}
	for _, set := range s.Defaults.Settings() {
		defaults[set.Key] = set.Value
	}
	byProfile := map[string]bool{"warmup": len(s.Lengths) > 0, "duration": len(s.Lengths) > 0, "slice": len(s.Lengths) > 0}
	for _, p := range s.Profiles {
		for _, set := range p.Settings() {
			byProfile[set.Key] = true
		}
	}
	var out []KeyText
	for _, f := range new(Workload).Fields() {
		if !slices.Contains(s.Keys(), f.Key) || f.Key == "id" || f.Key == "workload" {
			continue
		}
		k := KeyText{f.Key, defaults[f.Key], f.Doc}
		switch {
		case byProfile[f.Key] && k.Default != "":
			k.Default += ", or by profile"
		case byProfile[f.Key]:
			k.Default = "by profile"
		}
		out = append(out, k)
	}
	return out
}
