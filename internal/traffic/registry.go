package traffic

import (
	"fmt"
	"slices"
)

// All is the registry of workloads, by the fastest path of this system.
func All() []Workload { return slices.Concat(tcpAll(), udpAll()) }

// Portable is the registry by the path that every system has.
func Portable() []Workload {
	return slices.Concat(tcpPortable(), udpPortable())
}

// Named finds a workload by its kind.
func Named(kind string) (Workload, error) { return named(All(), kind) }

// For finds the workload of a trial.
func For(p Params) (Workload, error) {
	if p.Portable {
		return named(Portable(), p.Kind)
	}
	return Named(p.Kind)
}

func named(all []Workload, kind string) (Workload, error) {
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Spec().Kind == kind })
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
	_, sliced := w.(Sliced)
	return sliced && (!reverse || !w.Spec().ReverseWhole)
}
