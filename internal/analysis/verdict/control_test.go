package verdict

import (
	"math"
	"testing"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// A pilot trial, and one that was run to sample stacks, count in no cell, not even as the last of their block.
func TestTrialsAsideDoNotCount(t *testing.T) {
	trials := blocks.Join(blocks.Rows("host", "goodput", 100, 101, 99), blocks.Rows("veth", "goodput", 80, 81, 80))
	pilot, profiled := blocks.Row(0, "veth", "goodput", 8000), blocks.Row(3, "veth", "goodput", 8000)
	pilot.Pilot, profiled.Profiled = true, true
	want, _ := Cells(blocks.HostAnd(), []string{"stream"}, trials, Rule{Margin: 0.05})
	got, _ := Cells(blocks.HostAnd(), []string{"stream"}, append(trials, pilot, profiled), Rule{Margin: 0.05})
	must.Equal(t, want, got)
	c := readings.Counted(blocks.HostAnd(), append(trials, pilot, profiled))
	must.True(t, c[5] && !c[6] && !c[7], "counted %v", c)
}

// A control is no claim about a mode: it neither costs the others a correction nor
// gets one, and a control that is told apart is warned of.
func TestControlIsAFamilyOfItsOwn(t *testing.T) {
	modes := append(blocks.HostAnd()[:2:2], result.Mode{ID: "control", Status: result.ModeMeasured, Baseline: "host", Control: true})
	trials := blocks.Join(blocks.Rows("host", "goodput", 100, 100, 100, 100, 100), blocks.Rows("veth", "goodput", 92, 95, 101, 94, 93))
	alone, _ := Cells(blocks.HostAnd(), []string{"stream"}, trials, Rule{Margin: 0.05})
	both, warnings := Cells(modes, []string{"stream"}, blocks.Join(trials, blocks.Rows("control", "goodput", 80, 81, 79, 80, 80)), Rule{Margin: 0.05})
	must.True(t, *alone[1].P == *both[1].P && both[2].Verdict == result.Worse, "%+v; alone %+v", both, alone[1])
	must.True(t, len(warnings) == 1 && warnings[0].Code == "control_differs" && warnings[0].Scope == "control stream goodput", "warnings %+v", warnings)
	for _, r := range Ratios(Input{Modes: modes, Workloads: []string{"stream"}, Trials: trials}) {
		must.True(t, r.Mode == "veth" && r.Known && r.Ratio.N == 5 && math.Abs(r.Ratio.Ratio()-*alone[1].Ratio) <= 1e-12, "ratio %+v", r)
	}
}

// A noisy run keeps its values and has no verdict but cannot_tell.
func TestNoisyRunCannotTell(t *testing.T) {
	trials := blocks.Join(blocks.Rows("host", "goodput", 80, 81, 79), blocks.Rows("veth", "goodput", 100, 101, 99))
	in := Input{Modes: blocks.HostAnd(), Workloads: []string{"stream"}, Trials: trials, Rule: Rule{Margin: 0.05, Noisy: "half of the trials are invalid"}}
	cells, warnings := Judge(in)
	c := cells[1]
	must.True(t, c.Verdict == result.CannotTell && c.Ratio != nil && c.RatioCI != nil && c.P != nil && c.BlocksNeeded == nil, "%+v", c)
	must.True(t, len(warnings) == 0, "a verdict is warned of that is not given: %+v", warnings)
	compared := Comparisons(in, nil, []ComparisonRequest{{ID: "x", A: []string{"veth"}, B: []string{"host"}}})
	must.True(t, len(compared) == 1 && compared[0].Verdict == result.CannotTell && compared[0].Ratio != nil, "%+v", compared)
}

// Without pairing all values of both count, whatever their blocks: the ratio is that
// of the geometric means, and the noise of the blocks is not taken out.
func TestUnpaired(t *testing.T) {
	host, veth := []float64{100, 150, 80, 120, 95}, []float64{80, 120, 64, 96, 76}
	trials := blocks.Join(blocks.Rows("host", "goodput", host...), blocks.Rows("veth", "goodput", veth...))
	in := Input{Modes: blocks.HostAnd(), Workloads: []string{"stream"}, Trials: append(trials, blocks.Row(9, "host", "goodput", 100))}
	in.Rule = Rule{Margin: 0.05}
	paired, _ := Judge(in)
	in.Rule.Pairing = PairNone
	loose, _ := Judge(in)
	must.True(t, paired[1].Verdict == result.Worse && paired[1].N == 5 && math.Abs(*paired[1].Ratio-0.8) <= 1e-12, "paired %+v", paired[1])
	if c := loose[1]; c.Verdict != result.CannotTell || c.N != 5 || math.Abs(*c.Ratio - *c.Value / *loose[0].Value) > 1e-12 || c.RatioCI[1]/c.RatioCI[0] < 1.3 || c.BlocksNeeded == nil {
		t.Errorf("unpaired %+v", c)
	}
}

func TestRatioOfRatios(t *testing.T) {
	modes := []result.Mode{{ID: "a", Status: result.ModeMeasured}, {ID: "b", Status: result.ModeMeasured}, {ID: "c", Status: result.ModeMeasured}, {ID: "d", Status: result.ModeMeasured}}
	// The machine wavers from block to block, and d/c is 1.9 times b/a.
	var trials []result.Trial
	for i, w := range []float64{1, 1.3, 0.8, 1.1, 0.9} {
		n := 1 + 0.004*[]float64{1, -1, 0.5, -0.5, 0}[i]
		trials = append(trials, blocks.Row(i+1, "a", "goodput", 10*w), blocks.Row(i+1, "b", "goodput", 20*w), blocks.Row(i+1, "c", "goodput", 10*w*w), blocks.Row(i+1, "d", "goodput", 38*w*w*n))
	}
	trials = append(trials, blocks.Row(6, "a", "goodput", 10))
	in := Input{Modes: modes, Workloads: []string{"stream"}, Trials: trials, Rule: Rule{Margin: 0.05}}
	got := Comparisons(in, nil, []ComparisonRequest{
		{ID: "scale", A: []string{"d", "c"}, B: []string{"b", "a"}},
		{ID: "twice", A: []string{"d"}, B: []string{"c"}, Expect: 4},
		{ID: "as expected", A: []string{"d"}, B: []string{"c"}, Expect: 3.8},
		{ID: "odd", A: []string{"d", "c"}, B: []string{"a"}},
	})
	must.Require(t, len(got) == 4, "%+v", got)
	scale, twice, expected, odd := got[0], got[1], got[2], got[3]
	must.True(t, scale.N == 5 && scale.Missing == 1 && scale.Verdict == result.Better && math.Abs(*scale.Ratio-1.9) <= 0.01 && scale.RatioCI[0] >= 1.88 && scale.RatioCI[1] <= 1.92,
		"scale %+v", scale)
	if scale.A.ID != "d / c" || math.Abs(*scale.A.Value-3.8) > 0.02 || *scale.B.Value != 2 || len(scale.A.Of) != 2 || scale.A.Of[0].Value == nil || scale.Unit != "" || scale.A.Workload != "stream" {
		t.Errorf("its sides %+v %+v", scale.A, scale.B)
	}
	// 3.8 of 4 is the margin itself: not shown to be within it, but shown to be less.
	must.True(t, twice.Verdict == result.Worse && math.Abs(*twice.Ratio-3.8) <= 0.02 && *twice.Expect == 4, "twice %+v", twice)
	must.True(t, expected.Verdict == result.Same && expected.RatioCI[0] <= 3.8 && expected.RatioCI[1] >= 3.8, "as expected %+v", expected)
	must.True(t, odd.Reason != "" && odd.Ratio == nil, "a ratio against a value: %+v", odd)
	must.Get(store.EncodeRun(result.Run{Comparisons: got}))(t)
}

// Of a ratio of ratios, each term that is a lower bound leaves one side open.
func TestRatioOfRatiosAtLeast(t *testing.T) {
	level := map[string]float64{"a": 10, "b": 20, "c": 10, "d": 38}
	for slow, want := range map[string]result.Verdict{"": result.Better, "d": result.Better, "a": result.Better, "c": result.CannotTell, "b": result.CannotTell} {
		var modes []result.Mode
		var trials []result.Trial
		for _, m := range []string{"a", "b", "c", "d"} {
			modes = append(modes, result.Mode{ID: m, Status: result.ModeMeasured})
			for b := 1; b <= 5; b++ {
				r := blocks.Row(b, m, "goodput", level[m]*(1+0.001*float64(b%3)))
				if m == slow {
					r.AtLeast = []string{"goodput"}
				}
				trials = append(trials, r)
			}
		}
		got := Comparisons(Input{Modes: modes, Workloads: []string{"stream"}, Trials: trials, Rule: Rule{Margin: 0.05}}, nil,
			[]ComparisonRequest{{ID: "x", A: []string{"d", "c"}, B: []string{"b", "a"}}})
		must.True(t, len(got) == 1 && got[0].Verdict == want, "%q is a lower bound: %+v", slow, got)
	}
}
