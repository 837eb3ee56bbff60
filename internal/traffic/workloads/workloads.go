// Package workloads is the registry of the built-in workloads.
package workloads

import (
	"fmt"
	"slices"

	"tare/internal/traffic"
	"tare/internal/traffic/tcp"
	"tare/internal/traffic/udp"
	"tare/internal/traffic/web"
)

// All returns the workloads with the fastest implementation on this system.
func All() []traffic.Workload { return slices.Concat(tcp.All(), web.All(), udp.All()) }

// Offered returns what a study can name: All, and the workload without traffic that measures the set-up of modes.
func Offered() []traffic.Workload { return append(All(), setUp{}) }

// Named finds a workload by its kind.
func Named(kind string) (traffic.Workload, error) {
	all := Offered()
	i := slices.IndexFunc(all, func(w traffic.Workload) bool { return w.Spec().Kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("unknown workload %q", kind)
	}
	return all[i], nil
}

// CanSlice reports whether the built-in generator can run a workload in slices, interleaved with
// other modes.
func CanSlice(kind string, reverse bool) bool {
	w, err := Named(kind)
	if err != nil {
		return false
	}
	_, sliced := w.(traffic.Sliced)
	return sliced && (!reverse || !w.Spec().ReverseWhole)
}
