package agent

import (
	"tare/internal/observe"
	"tare/internal/observe/netstack"
)

// readStack reads the counters of this agent's network stack and the CPU times of
// its machine, and asks what its devices are.
func readStack(proc string) netstack.Reading {
	r := netstack.Read(proc)
	r.ReadCPU(proc)
	r.Pressure = observe.ReadPressureFiles(proc)
	links, err := readLinks()
	if err != nil {
		return r // without kinds, only a bridge's drops cannot be told from a card's
	}
	r.Kinds = map[string]string{}
	for _, l := range links {
		r.Kinds[l.Name] = l.Kind
	}
	return r
}
