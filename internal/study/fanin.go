package study

import "slices"

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
