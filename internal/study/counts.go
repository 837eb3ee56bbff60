package study

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/study/published"
)

// Counts are numbers of flows or streams in ascending order. Each makes a workload of its
// own.
type Counts []int

// String writes them as a list.
func (c Counts) String() string {
	var all []string
	for _, n := range c {
		all = append(all, strconv.Itoa(n))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// most is the largest of them, 0 of none.
func (c Counts) most() int {
	if len(c) == 0 {
		return 0
	}
	return slices.Max(c)
}

// CountsValue is a whole number, or a list of them: One has the number and All the list. At
// most one of the two is set.
type CountsValue struct {
	One Plain
	All Sequence
}

// counts is a number of flows or streams, or a list of such numbers.
func counts(one *int, all *Counts, most float64) CountsValue {
	single := count(one, 1, most)
	number := single.(plain[int])
	return CountsValue{single, sequence[Counts, int]{held[Counts]{all}, number.rule, number.form, "a whole number from %s, or a list of them, such as [1, 4, 16]"}}
}

// Part is the one of the two that is set; the number if none is.
func (c CountsValue) Part() Value {
	if !c.All.IsZero() {
		return c.All
	}
	return c.One
}

// IsZero reports whether the key is absent.
func (c CountsValue) IsZero() bool { return c.One.IsZero() && c.All.IsZero() }

// String returns the number or the list.
func (c CountsValue) String() string { return c.Part().String() }

// Want describes the valid values of the key.
func (c CountsValue) Want(key string) string { return c.All.Want(key) }

// Get returns the number or the list.
func (c CountsValue) Get() any { return c.Part().Get() }

// Set copies the value of another CountsValue.
func (c CountsValue) Set(from Value) {
	other := from.(CountsValue)
	c.One.Set(other.One)
	c.All.Set(other.All)
}

// Concurrency is the key of the list that a workload has, flows or streams, and the list;
// empty if it has none.
func (w Workload) Concurrency() (key string, list Counts) {
	if len(w.StreamCounts) > 0 {
		return "streams", w.StreamCounts
	}
	if len(w.FlowCounts) > 0 {
		return "flows", w.FlowCounts
	}
	return "", nil
}

// concurrency checks the lists of flows and streams.
func (v *validator) concurrency(prefix string, w Workload, spec WorkloadSpec) {
	v.ascending(prefix, "streams", counts(&w.Streams, &w.StreamCounts, mostStreams).All)
	v.ascending(prefix, "flows", counts(&w.Flows, &w.FlowCounts, mostFlows).All)
	if n := max(w.Flows, w.FlowCounts.most()); n > mostStreams && n <= mostFlows && !spec.ManyFlows {
		v.add(prefix+"flows", "flows is %d; want at most %d for %s", n, mostStreams, spec.Kind)
	}
	if n := max(w.Flows, w.FlowCounts.most()); n > MostTLSFlows && n <= mostStreams && spec.FewFlows && w.TLS != On {
		v.add(prefix+"flows", "flows is %d; want at most %d for %s: each needs threads at both endpoints", n, MostTLSFlows, spec.Kind)
	}
	key, list := w.Concurrency()
	if len(list) == 0 {
		return
	}
	if at := prefix + key; v.readable(at) && (slices.Contains(spec.Keys(), "rates") || slices.Contains(spec.Keys(), "loss_goals")) {
		v.add(at, "%s is a list, but %s already varies the load; want one number", key, spec.Kind)
	}
}

// Levels are the values of the workload's sweep, none if it has one value.
func (w Workload) Levels() []published.Level {
	var out []published.Level
	for _, r := range w.Rates {
		out = append(out, published.Level{Key: "rates", Value: float64(r)})
	}
	key, counts := w.Concurrency()
	for _, n := range counts {
		out = append(out, published.Level{Key: key, Value: float64(n)})
	}
	return out
}
