package plan_test

import (
	"testing"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/traffic/workloads"
)

// catalog has modes for tests, and all workloads.
func catalog() study.Catalog {
	cat := studytest.Catalog()
	cat.Workloads = nil
	for _, w := range workloads.All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	return cat
}

// shared resolves a study on shared hosts.
func shared(t *testing.T, text string) (study.Study, error) {
	t.Helper()
	cat := catalog()
	cat.Shared, cat.Restricted = true, true
	s := must.Get(studyfile.Decode("s.yaml", []byte(text), cat))(t)
	return study.Resolve(s, cat)
}

// On shared hosts every workload that has a rate is paced at half of what its first trial reached,
// or at a lower limit of the study, and at the same rate after a run was resumed.
func TestPace(t *testing.T) {
	const modes = "modes: [host, netns/bridge]\nworkloads: "
	for name, c := range map[string]struct {
		text    string
		reached float64
		first   quantity.Load // of the first trial
		rate    float64       // then
		limited bool
	}{
		"bulk":                        {modes + "[tcp_stream]", 8e9, quantity.Unlimited, 4e9, false},
		"a limit below half":          {modes + "[tcp_stream]\nmax_rate: 1Gbit/s", 2e9, 2e9, 1e9, true},
		"nearly twice the limit":      {modes + "[tcp_stream]\nmax_rate: 1Gbit/s", 1.95e9, 2e9, 1e9, true},
		"a limit above half":          {modes + "[tcp_stream]\nmax_rate: 1Gbit/s", 0.8e9, 2e9, 0.4e9, false},
		"a rate of its own":           {modes + "[{workload: udp_stream, rate: 100Mbit/s}]", 199e6, 200e6, 100e6, true},
		"a rate that is too much":     {modes + "[{workload: udp_stream, rate: 100Mbit/s}]", 60e6, 200e6, 30e6, false},
		"the lower of two limits":     {modes + "[{workload: udp_stream, rate: 100Mbit/s}]\nmax_rate: 50Mbit/s", 100e6, 100e6, 50e6, true},
		"several pairs share a limit": {modes + "[{workload: tcp_stream, pairs: 4}]\nmax_rate: 1Gbit/s", 2e9, 0.5e9, 1e9, true},
	} {
		s, err := shared(t, c.text)
		must.Do(must.Named(t, name), err)
		paced := plan.Paced(s)
		must.Require(t, len(paced) == 1 && s.Pace == study.Half, "%s: pace %q, paced %v", name, s.Pace, paced)
		if first := plan.FirstTrial(s, paced[0]); first.Rate != c.first || first.Duration.Std() != plan.FirstWindow || (plan.Trial{Workload: first}).Sliced() {
			t.Errorf("%s: the first trial is %+v", name, first)
		}
		p := plan.PaceAt(s, paced[0], "host", c.reached)
		must.True(t, p.Rate == c.rate && p.Limited() == c.limited, "%s: %+v; want rate %g, limited %t", name, p, c.rate, c.limited)
		after := plan.Decided(s, result.Run{Paces: []result.Pace{p}})
		got := plan.Offered(after.Workloads[0])
		must.True(t, got == c.rate, "%s: then %g bit/s are offered, want %g", name, got, c.rate)
		must.True(t, s.Workloads[0].Rate != after.Workloads[0].Rate || c.rate == plan.Offered(s.Workloads[0]), "%s: the study of before was changed", name)
	}
}

// Without pacing nothing is limited but by max_rate, and requests are never.
func TestFullRate(t *testing.T) {
	s := must.Get(shared(t, "modes: [host]\npace: off\nworkloads: [tcp_stream, tcp_rr, {workload: udp_stream, rate: 1Mbit/s}]\nmax_rate: 10Mbit/s\ncost_pass: {rate: 1Gbit/s}"))(t)
	limits := plan.Limits(s)
	must.True(t, len(plan.Paced(s)) == 0 && len(limits) == 1 && limits[0].Workload == "tcp_stream" && limits[0].Rate == 10e6, "limits %+v", limits)
	after := plan.Decided(s, result.Run{Paces: limits})
	must.True(t, plan.Offered(after.Workloads[0]) == 10e6 && after.Workloads[2].Rate == 1e6 && after.CostPass.Rate == 10e6, "%+v, cost pass %+v", after.Workloads, after.CostPass)
	s.Pace = ""
	must.EqualFor(t, "on hosts of the run's own: pace", "", must.Get(study.Resolve(s, catalog()))(must.Named(t, "on hosts of the run's own: pace")).Pace)
}

// A workload that searches the limit of a path is refused where the study is paced.
func TestPacedSearch(t *testing.T) {
	for _, w := range []string{"udp_search", "udp_sweep"} {
		must.FailFor(t, w+" is not refused", must.Err(shared(t, "modes: [host]\nworkloads: ["+w+"]")))
		must.Do(must.Named(t, w+" at full rate"), must.Err(shared(t, "modes: [host]\npace: off\nworkloads: ["+w+"]")))
	}
	_, err := shared(t, "modes: [host]\npace: off\nmax_rate: 1Gbit/s\nworkloads: [{workload: udp_sweep, rates: [100Mbit/s, 2Gbit/s]}]")
	must.True(t, err != nil, "a sweep above the highest rate is not refused")
}

// The congestion control that is left open is that of the run, and the system's where the run chose
// none.
func TestDecidedCongestion(t *testing.T) {
	s := must.Get(shared(t, "modes: [host]\nworkloads: [tcp_rr, {workload: tcp_crr, congestion_control: cubic}]"))(t)
	must.Equal(t, study.AutoWord, s.Workloads[0].Congestion)
	for _, c := range []struct {
		run  result.Run
		want string
	}{{result.Run{}, ""}, {result.Run{Congestion: &result.Congestion{Name: "reno"}}, "reno"}} {
		got := plan.Decided(s, c.run)
		must.True(t, got.Workloads[0].Congestion == c.want && got.Workloads[1].Congestion == "cubic", "%+v", got.Workloads)
	}
}
