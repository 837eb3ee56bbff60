package agent

import (
	"tare/internal/observe"
	"tare/internal/observe/netstack"
)

// readStack reads the counters of this agent's network stack, the pressure of its machine and the kinds
// of its devices.
func readStack(proc string) netstack.Reading {
	r := netstack.Read(proc)
	r.Pressure = observe.ReadPressureFiles(proc)
	links, err := readLinks()
	if err != nil {
		return r // without the kinds, drops of a bridge cannot be told from those of a network card
	}
	r.Kinds = map[string]string{}
	for _, l := range links {
		r.Kinds[l.Name] = l.Kind
	}
	return r
}
