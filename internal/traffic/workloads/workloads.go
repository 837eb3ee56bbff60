// Package workloads is the registry of the built-in workloads.
package workloads

import (
	"fmt"
	"slices"

	"tare/internal/traffic"
	"tare/internal/traffic/tcp"
	"tare/internal/traffic/udp"
)

// All is the registry of workloads, by the fastest path of this system.
func All() []traffic.Workload { return slices.Concat(tcp.All(), udp.All()) }

// Portable is the registry by the path that every system has.
func Portable() []traffic.Workload {
	return slices.Concat(tcp.Portable(), udp.Portable())
}

// Named finds a workload by its kind.
func Named(kind string) (traffic.Workload, error) { return named(All(), kind) }

// For finds the workload of a trial.
func For(p traffic.Params) (traffic.Workload, error) {
	if p.Portable {
		return named(Portable(), p.Kind)
	}
	return Named(p.Kind)
}

func named(all []traffic.Workload, kind string) (traffic.Workload, error) {
	i := slices.IndexFunc(all, func(w traffic.Workload) bool { return w.Spec().Kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("unknown workload %q", kind)
	}
	return all[i], nil
}

// CanSlice reports whether the built-in generator can drive a workload in slices,
// in turns with other trials.
func CanSlice(kind string, reverse bool) bool {
	w, err := Named(kind)
	if err != nil {
		return false
	}
	_, sliced := w.(traffic.Sliced)
	return sliced && (!reverse || !w.Spec().ReverseWhole)
}
