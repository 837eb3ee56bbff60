package sums

import (
	"fmt"
	"math"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// sampled is a trial whose stacks were sampled on two CPUs.
func sampled(mode string, goodput float64, idle int, components map[string]int) result.Trial {
	busy := 0
	for _, n := range components {
		busy += n
	}
	return result.Trial{
		Mode: mode, Workload: "w", Status: result.TrialOK, Metrics: map[string]float64{"goodput": goodput},
		Stacks: &result.Stacks{Rate: 100, Seconds: 10, CPUs: 2, Busy: busy, Idle: idle, Components: components},
	}
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	must.True(t, got != nil && math.Abs(*got-want) <= 1e-9, "%s: %v, want %g", what, got, want)
}

func TestBreakdowns(t *testing.T) {
	measured := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "vxlan", Status: result.ModeMeasured}, {ID: "cut", Status: result.ModeMeasured}, {ID: "void", Status: result.ModeVoid}}
	priced := sampled("vxlan", 1e9, 0, map[string]int{"copy": 500, "VXLAN": 500})
	priced.Metrics["cpu_cost"] = 4
	failed := sampled("cut", 1e9, 0, map[string]int{"crypto": 7})
	failed.Status = result.TrialFailed
	got := Breakdowns(measured, []string{"none", "w"}, []result.Trial{
		sampled("host", 1e9, 1000, map[string]int{"copy": 900, result.Unclassified: 100}),
		sampled("host", 1e9, 750, map[string]int{"copy": 1000, "other programs": 250}),
		priced, failed, {Mode: "cut", Workload: "none", Status: result.TrialOK},
		sampled("void", 1e9, 0, map[string]int{"copy": 9}),
	})
	must.Require(t, len(got) == 3 && got[0].Mode == "host" && got[1].Mode == "vxlan" && got[2].Mode == "cut", "breakdowns of %v", got)
	host, vxlan := got[0], got[1]
	// All lines stand side by side, and what no mode has is left out.
	for i, name := range []string{"copy", "VXLAN", "other programs", result.Unclassified} {
		must.True(t, host.Components[i].Name == name && vxlan.Components[i].Name == name, "line %d is %q and %q, want %q", i, host.Components[i].Name, vxlan.Components[i].Name, name)
	}
	must.EqualFor(t, fmt.Sprintf("host: %+v", host), []any{4, 2, 2250, 0.05}, []any{len(host.Components), host.Trials, host.Samples, host.Unknown})
	// One of two CPUs at work for a Gbit/s is a CPU second a Gbit, without a bill.
	near(t, "CPUs of host", host.CPUs, 1.125)
	near(t, "cost of host", host.Cost, 1)
	near(t, "copy of host", host.Components[0].Cost, 0.95)
	ci := host.Components[0].CI
	must.True(t, ci != nil && ci[0] < 0.95 && ci[1] > 0.95, "interval of two trials: %v", ci)
	near(t, "VXLAN of host", host.Components[1].Cost, 0)
	// What others do meanwhile has a share of the samples and none of the cost.
	c := host.Components[2]
	must.True(t, c.Share == 250./2250 && c.Cost == nil, "other programs: %+v", c)
	// The machine's bill goes before what the samples come to.
	near(t, "cost of vxlan", vxlan.Cost, 4)
	near(t, "VXLAN of vxlan", vxlan.Components[1].Cost, 2)
	must.True(t, vxlan.Components[1].CI == nil && vxlan.Unit == "s/Gbit", "one trial has an interval, or its costs the unit %q", vxlan.Unit)
	must.True(t, got[2].Missing != "" && len(got[2].Components) == 0, "a mode whose trials failed: %+v", got[2])
}

// A breakdown without a cost, and one of idle machines, have no values.
func TestBreakdownWithout(t *testing.T) {
	mode := []result.Mode{{ID: "m", Status: result.ModeMeasured}}
	free := sampled("m", 0, 0, map[string]int{"copy": 1, "of a later version": 1})
	free.Metrics = nil
	b := Breakdowns(mode, []string{"w"}, []result.Trial{free})[0]
	must.True(t, b.Cost == nil && b.Unit == "" && b.Components[0].Cost == nil && b.Components[0].Share == 0.5, "without a price: %+v", b)
	must.EqualFor(t, fmt.Sprintf("a name of a later version is lost: %+v", b.Components), "of a later version", b.Components[len(b.Components)-1].Name)
	if b := Breakdowns(mode, []string{"w"}, []result.Trial{sampled("m", 1e9, 50, nil)})[0]; b.Missing == "" || b.CPUs != nil {
		t.Errorf("at rest: %+v", b)
	}
}
