package runner

import (
	"cmp"
	"slices"

	"tare/internal/driver"
	"tare/internal/observe"
	"tare/internal/result"
)

// manned reads the process table around what the lanes do, and records with each what
// the processes of its mode spent. Those of a mode that waits for its turn rest, and so
// one reading before all turns and one after them are enough. It is slow beside the
// other readings, and outside of them.
func (r *run) manned(lanes []*lane, do func()) {
	belonging, some := make([]observe.Belonging, len(lanes)), false
	for i, l := range lanes {
		belonging[i] = r.belonging(l)
		some = some || len(belonging[i].Roots)+len(belonging[i].Programs) > 0
	}
	if !some {
		do()
		return
	}
	before, err := observe.ReadTable("/proc")
	do()
	if err != nil {
		r.warn("not_observed", "run", "what the modes' own processes spent: %v", err)
		return
	}
	after, err := observe.ReadTable("/proc")
	if err != nil {
		r.warn("not_observed", "run", "what the modes' own processes spent: %v", err)
		return
	}
	for i, l := range lanes {
		if l.err == nil {
			l.out.Processes = byProgram(after.Spent(before, belonging[i]))
		}
	}
}

// belonging is which processes are the mode's own. Of an engine that exists, which is
// others' too, it is its programs, whatever they do.
func (r *run) belonging(l *lane) observe.Belonging {
	var b observe.Belonging
	if l.err != nil {
		return b
	}
	if l.stage.path.Processes != nil {
		b.Roots = l.stage.path.Processes()
	}
	b.Programs = driver.Ground{Hosts: l.stage.path.Hosts}.Programs()
	return b
}

// byProgram lists what programs spent, the most first.
func byProgram(spent map[string]float64) []result.ProcessCPU {
	var out []result.ProcessCPU
	for name, v := range spent {
		out = append(out, result.ProcessCPU{Name: name, CPU: v})
	}
	slices.SortFunc(out, func(a, b result.ProcessCPU) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name))
	})
	return out
}
