package agent

import (
	"tare/internal/facts"
	"tare/internal/observe"
	"tare/internal/observe/netstack"
	"tare/internal/observe/nic"
)

// readStack reads the counters of this agent's network stack, the pressure of its machine, the kinds
// of its devices and the statistics of its network cards.
func readStack(proc string) netstack.Reading {
	r := netstack.Read(proc)
	r.Pressure = observe.ReadPressureFiles(proc)
	if periods, stopped, known := facts.Throttling("/"); known {
		r.Set(netstack.ThrottledPeriods, periods)
		r.Set(netstack.ThrottledTime, uint64(stopped)) //nolint:gosec // never below 0
	}
	links, err := readLinks()
	if err != nil {
		return r // without the kinds, drops of a bridge cannot be told from those of a network card
	}
	r.Kinds = map[string]string{}
	var cards []string
	for _, l := range links {
		r.Kinds[l.Name] = l.Kind
		if l.Kind == "" && !l.Loopback {
			cards = append(cards, l.Name)
		}
	}
	nic.Read(&r, cards)
	return r
}
