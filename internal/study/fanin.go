package study

import (
	"fmt"
	"slices"
	"strings"
)

// NoFanIn is why a mode has no result for a workload with several clients of one server, as a clause.
const NoFanIn = "its proof cannot tell several clients of one server from clients that each have one, which fan_in requires; use pairs"

// fanIn checks the keys of a workload whose clients have one server.
func (v *validator) fanIn(prefix string, w Workload, spec WorkloadSpec) {
	if w.FanIn <= 1 || !v.readable(prefix+"fan_in") || !slices.Contains(spec.Keys(), "fan_in") {
		return
	}
	fail := func(format string, args ...any) {
		v.add(prefix+"fan_in", "fan_in is %d, but "+format, append([]any{w.FanIn}, args...)...)
	}
	most := mostFlows
	if w.TLS == On || spec.FewFlows {
		most = MostTLSFlows
	}
	flows := max(1, w.Flows, w.FlowCounts.most())
	switch {
	case w.Pairs > 1:
		fail("there are %d pairs, each with a server of its own; remove fan_in or pairs", w.Pairs)
	case w.WithLoad != "":
		fail("there is a load beside it; remove fan_in or with_load")
	case w.Event != "":
		fail("an event is measured with one client; remove fan_in or event")
	case w.FanIn*flows > most:
		fail("the server has at most %d flows here, and each client has %d; use fewer", most, flows)
	}
}

// fanIns checks that a mode of the study can have several clients of one server. Of the others, the run leaves out the workload.
func (v *validator) fanIns(s Study) {
	for _, m := range s.Modes {
		if offer, ok := v.cat.Mode(m.Mode); !ok || offer.Absent != "" || offer.FanIn {
			return
		}
	}
	for i, w := range s.Workloads {
		if path := fmt.Sprintf("workloads[%d].fan_in", i); w.FanIn > 1 && len(s.Modes) > 0 && v.readable(path) {
			v.add(path, "fan_in is %d, but no mode of the study can have it (%s): %s", w.FanIn, strings.Join(s.ModeNames(), ", "), NoFanIn)
		}
	}
}
