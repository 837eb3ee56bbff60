package changes

import (
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
	"tare/internal/testkit/blocks"
	"tare/internal/testkit/must"
)

// taken is a run of these trials.
func taken(trials []result.Trial, modes ...result.Mode) RunTrials {
	if modes == nil {
		modes = []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "bridge", Status: result.ModeMeasured, Baseline: "host"}, {ID: "overlay", Status: result.ModeMeasured, Baseline: "host"}}
	}
	cells, _ := verdict.Cells(modes, []string{"stream"}, trials, verdict.Rule{Margin: 0.05})
	return RunTrials{Run: result.Run{ID: "x", Started: time.Unix(0, 0).UTC(), Status: result.RunComplete, Modes: modes, Cells: cells}, Trials: trials}
}

func earlier() []result.Trial {
	return blocks.Join(
		blocks.Rows("host", "goodput", 1000, 1010, 990, 1000, 1000),
		blocks.Rows("bridge", "goodput", 800, 806, 794, 800, 802),
		blocks.Rows("overlay", "goodput", 500, 506, 494, 500, 501))
}

// A change of the machine that affects all modes is no change of a mode; a change of its
// ratio to the baseline is.
func TestAcrossComparesCosts(t *testing.T) {
	later := blocks.Join(
		blocks.Rows("host", "goodput", 500, 505, 495, 500, 500), // half as fast a machine
		blocks.Rows("bridge", "goodput", 400, 403, 397, 400, 401),
		blocks.Rows("overlay", "goodput", 200, 202, 198, 200, 201)) // 0.4 of the host, where it was 0.5
	c := Across(taken(earlier()), taken(later), nil, 0.05)
	got := map[string]result.Verdict{}
	for _, x := range c.Cells {
		got[x.Mode] = x.Verdict
		must.EqualFor(t, x.Mode+": own", x.Mode == "host", x.Own)
	}
	must.Equal(t, map[string]result.Verdict{"host": result.Worse, "bridge": result.Same, "overlay": result.Worse}, got)
	overlay := c.Cells[2]
	must.True(t, math.Abs(*overlay.Ratio-0.8) <= 0.005 && math.Abs(*overlay.Before-0.5) <= 0.005 && math.Abs(*overlay.After-0.4) <= 0.005,
		"overlay went from %.3f to %.3f, %.3f times; want 0.5, 0.4, 0.8", *overlay.Before, *overlay.After, *overlay.Ratio)
	// Welch's interval of the difference of the two mean log ratios, by hand.
	b := stderr([]float64{500. / 1000, 506. / 1010, 494. / 990, 500. / 1000, 501. / 1000})
	a := stderr([]float64{200. / 500, 202. / 505, 198. / 495, 200. / 500, 201. / 500})
	if want := math.Hypot(a, b); math.Abs(math.Log(overlay.RatioCI[1]/(*overlay.Ratio))/want-2.5) > 0.5 { // t with 4 to 8 degrees of freedom: 2.3 to 2.8
		t.Errorf("interval %v is not 2 to 3 standard errors (%.5f) wide", *overlay.RatioCI, want)
	}
}

// Blocks of one set-up are one replicate of it: a baseline that was made twice in a run has two values, and a change of one that was
// made once is indicative.
func TestAcrossSetups(t *testing.T) {
	const tiny = 0.01
	run := func(setups []int, levels ...float64) RunTrials {
		var values []float64
		for i := range setups {
			values = append(values, levels[setups[i]-1]+tiny*float64(i%3-1))
		}
		trials := blocks.Rows("host", "goodput", values...)
		for i := range trials {
			trials[i].Setup = setups[i]
		}
		return taken(trials, result.Mode{ID: "host", Status: result.ModeMeasured})
	}
	twice, once := []int{1, 1, 1, 2, 2, 2}, []int{1, 1, 1, 1, 1, 1}
	host := Across(run(twice, 10, 11), run(twice, 11, 12), nil, 0.05).Cells[0]
	must.True(t, host.Verdict == result.CannotTell && host.RatioCI[0] < 0.9 && host.RatioCI[1] > 1.3, "%s, %v", host.Verdict, *host.RatioCI)
	host = Across(run(once, 10), run(once, 11), nil, 0.05).Cells[0]
	must.True(t, host.Verdict == result.Better && host.Indicative && host.Setups == 1, "%+v", host)
}

// How much more time a mode adds than before is the difference of the means of what it adds in each block, with Welch's
// interval; that of a baseline is of its own times. Nothing is told of what is no time, without an interval, of a lower bound
// or across machines.
func TestAcrossAddsTime(t *testing.T) {
	run := func(metric string, host, bridge []float64) RunTrials {
		r := taken(blocks.Join(blocks.Rows("host", metric, host...), blocks.Rows("bridge", metric, bridge...)))
		r.Serial = []string{"stream"}
		return r
	}
	rates := func(us ...float64) (out []float64) {
		for _, t := range us {
			out = append(out, 1e6/t)
		}
		return out
	}
	of := func(before, after RunTrials) map[string]*result.Added {
		out := map[string]*result.Added{}
		for _, c := range Across(before, after, nil, 0.05).Cells {
			out[c.Mode] = c.Added
		}
		return out
	}
	// The mode adds 2, 3 and 4 us before and 5, 7 and 9 us after: 4 us more. By hand: variances 1 and 4, so the standard error
	// is sqrt(5/3) with 50/17 degrees of freedom, and qt(0.975, 50/17) is 3.21876.
	before := run("transaction_rate", rates(10, 11, 10), rates(12, 14, 14))
	after := run("transaction_rate", rates(20, 21, 19), rates(25, 28, 28))
	got := of(before, after)
	half := 3.21876 * math.Sqrt(5.0/3) * 1e-6
	must.Equal(t, &result.Added{Amount: result.Amount{Value: 4e-6, CI: &result.Interval{4e-6 - half, 4e-6 + half}, N: 3}, Unit: "s/transaction"}, got["bridge"], blocks.Approx())
	host := got["host"]
	must.True(t, host != nil && math.Abs(host.Value-(20-31.0/3)*1e-6) <= 1e-12, "the baseline: %+v", host)
	bounded := run("transaction_rate", rates(20, 21, 19), rates(25, 28, 28))
	bounded.Trials[0].AtLeast = []string{"transaction_rate"} // the baseline's
	concurrent, elsewhere := after, after
	concurrent.Serial = nil
	before.Run.Hosts = []result.Host{{Name: "a", Facts: []result.Fact{{Name: "microcode", Value: "0x1"}}}}
	elsewhere.Run.Hosts = []result.Host{{Name: "a", Facts: []result.Fact{{Name: "microcode", Value: "0x2"}}}}
	for name, pair := range map[string][2]RunTrials{
		"a lower bound":  {before, bounded},
		"concurrent":     {before, concurrent},
		"other machines": {before, elsewhere},
		"one block":      {before, run("transaction_rate", rates(20), rates(25))},
		"no time":        {run("goodput", rates(10, 11), rates(12, 14)), run("goodput", rates(10, 11), rates(12, 15))},
	} {
		for mode, a := range of(pair[0], pair[1]) {
			must.True(t, a == nil, "%s: %s has %+v", name, mode, a)
		}
	}
}

// stderr is the standard error of the mean of the logarithms.
func stderr(xs []float64) float64 {
	var mean, ss float64
	for _, x := range xs {
		mean += math.Log(x) / float64(len(xs))
	}
	for _, x := range xs {
		ss += (math.Log(x) - mean) * (math.Log(x) - mean)
	}
	return math.Sqrt(ss / float64(len(xs)-1) / float64(len(xs)))
}

func TestAcrossLeavesOut(t *testing.T) {
	plain := taken(earlier())
	noisy := taken(earlier())
	noisy.Run.Noisy = "31 % of its trials were ruled out"
	other := taken(earlier(), result.Mode{ID: "host", Status: result.ModeMeasured}, result.Mode{ID: "bridge", Status: result.ModeMeasured, Baseline: "host"},
		result.Mode{ID: "overlay", Status: result.ModeMeasured, Baseline: "bridge"})
	broken := taken(earlier(), result.Mode{ID: "host", Status: result.ModeMeasured}, result.Mode{ID: "bridge", Status: result.ModeVoid, Reason: "went round", Baseline: "host"})
	bounded := earlier()
	for i := range bounded {
		if bounded[i].Mode == "bridge" {
			bounded[i].AtLeast = []string{"goodput"}
			bounded[i].Metrics["goodput"] *= 0.5
		}
	}
	for _, c := range []struct {
		name          string
		before, after RunTrials
		refused       []result.Refusal
		want          string // mode verdict, ...
		modes         string // of which something else became
	}{
		{"nothing", plain, plain, nil, "host same, bridge same, overlay same", ""},
		{"a workload", plain, plain, []result.Refusal{{Workload: "stream"}}, "", ""},
		{"a mode", plain, plain, []result.Refusal{{Mode: "bridge"}}, "host same, overlay same", ""},
		{"the baseline, and so all beside it", plain, plain, []result.Refusal{{Mode: "host"}}, "", ""},
		{"everything", plain, plain, []result.Refusal{{}}, "", ""},
		{"verdicts of a noisy run", plain, noisy, nil, "host cannot_tell, bridge cannot_tell, overlay cannot_tell", ""},
		{"a mode with another baseline", plain, other, nil, "host same, bridge same", ""},
		{"modes that are lost", plain, broken, nil, "host same", "bridge measured void, overlay measured "},
		{"what a lower bound does not bear", plain, taken(bounded), nil, "host same, bridge cannot_tell, overlay same", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Across(c.before, c.after, c.refused, 0.05)
			var cells, modes []string
			for _, x := range got.Cells {
				cells = append(cells, x.Mode+" "+string(x.Verdict))
			}
			for _, m := range got.Modes {
				modes = append(modes, strings.Join([]string{m.Mode, string(m.Before), string(m.After)}, " "))
				must.True(t, m.Lost(), "%s is not lost", m.Mode)
			}
			must.EqualFor(t, "cells", c.want, strings.Join(cells, ", "))
			must.EqualFor(t, "modes", c.modes, strings.Join(modes, ", "))
		})
	}
}

func TestEnvironment(t *testing.T) {
	before := result.Run{Tare: result.Build{Version: "1"}, Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "6.1"}, {Name: "load_average", Value: "0.1"}, {Name: "cpus", Value: "2"}}}},
		Modes: []result.Mode{{ID: "docker/bridge", Facts: []result.Fact{{Name: "engine", Value: "20.10"}, {Name: "made", Value: "3 times"}}}}}
	after := result.Run{Tare: result.Build{Version: "2"}, Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "6.18"}, {Name: "load_average", Value: "0.9"}, {Name: "cpus", Value: "2"}, {Name: "numa", Value: "1"}}}, {Name: "b"}},
		Modes: []result.Mode{{ID: "docker/bridge", Facts: []result.Fact{{Name: "engine", Value: "28"}, {Name: "made", Value: "5 times"}}}}}
	want := []result.Difference{{Scope: "tare", Name: "version", Before: "1", After: "2"}, {Scope: "host a", Name: "kernel", Before: "6.1", After: "6.18"}, {Scope: "host a", Name: "numa", Before: "", After: "1"}, {Scope: "host b", Name: "", Before: "", After: "there"},
		{Scope: "mode docker/bridge", Name: "engine", Before: "20.10", After: "28"}}
	must.Equal(t, want, Environment(before, after))
}

// What a later run has no values of is named: a workload of a mode, or of all. A mode that it did not measure is told
// as a mode.
func TestMissing(t *testing.T) {
	cell := func(mode, workload string, n int) result.Cell {
		return result.Cell{Mode: mode, Workload: workload, N: n}
	}
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "bridge", Status: result.ModeMeasured}, {ID: "vxlan", Status: result.ModeFailed}}
	before := result.Run{Modes: modes, Cells: []result.Cell{
		cell("host", "rr", 4), cell("bridge", "rr", 4), cell("vxlan", "rr", 4), cell("host", "crr", 4), cell("bridge", "crr", 4), cell("host", "dns", 1), cell("host", "udp", 0),
	}}
	after := result.Run{Modes: modes, Cells: []result.Cell{
		cell("host", "rr", 4), cell("bridge", "rr", 4), cell("host", "crr", 4), cell("bridge", "crr", 0),
	}}
	across := func(before, after result.Run) []result.Pair {
		return Across(RunTrials{Run: before}, RunTrials{Run: after}, nil, 0.1).Missing
	}
	must.Equal(t, []result.Pair{{Mode: "bridge", Workload: "crr"}, {Workload: "dns"}}, across(before, after))
	must.Equal(t, 0, len(across(before, before)))
}

// What never happened with either is the same, not a doubt; what happened with one has no
// ratio.
func TestNoneInEither(t *testing.T) {
	for _, c := range []struct {
		name       string
		metric     string
		host, veth []float64
		noisy      string
		want       result.Verdict
	}{
		{"none in either", "retransmits", []float64{0, 0, 0}, []float64{0, 0, 0}, "", result.Same},
		{"no loss in either", "loss_ratio", []float64{0, 0, 0}, []float64{0, 0, 0}, "", result.Same},
		{"some in one", "retransmits", []float64{0, 0, 0}, []float64{0, 1, 0}, "", result.CannotTell},
		{"one block", "retransmits", []float64{0}, []float64{0}, "", result.CannotTell},
		{"nothing carried", "goodput", []float64{0, 0, 0}, []float64{0, 0, 0}, "", result.CannotTell},
		{"a noisy run", "retransmits", []float64{0, 0, 0}, []float64{0, 0, 0}, "half of its trials are invalid", result.CannotTell},
	} {
		for _, pairing := range []verdict.Pairing{verdict.PairBlocks, verdict.PairNone} {
			in := verdict.Input{Modes: blocks.HostAnd(), Workloads: []string{"stream"}, Trials: blocks.Join(blocks.Rows("host", c.metric, c.host...), blocks.Rows("veth", c.metric, c.veth...)), Rule: verdict.Rule{Margin: 0.05, Pairing: pairing, Noisy: c.noisy}}
			cells, _ := verdict.Judge(in)
			v := cells[1]
			must.True(t, v.Verdict == c.want && v.Ratio == nil, "%s, pairing %q: %s, ratio %v; want %s", c.name, pairing, v.Verdict, v.Ratio, c.want)
			got := verdict.Comparisons(in, nil, []verdict.ComparisonRequest{{ID: "x", A: []string{"veth"}, B: []string{"host"}}})
			must.True(t, len(got) == 1 && got[0].Verdict == c.want, "%s: asked for: %+v", c.name, got)
		}
		run := taken(blocks.Join(blocks.Rows("host", c.metric, c.host...), blocks.Rows("veth", c.metric, c.veth...)), blocks.HostAnd()...)
		run.Run.Noisy = c.noisy
		want := c.want
		if c.name == "some in one" { // the baseline itself has none in either run
			want = result.Same
		}
		if got := Across(run, run, nil, 0.05); len(got.Cells) != 1 || got.Cells[0].Verdict != want || got.Cells[0].Ratio != nil {
			t.Errorf("%s, in two runs: %+v; want %s", c.name, got.Cells, want)
		}
	}
}

// The longest round trip has a value and nothing else: one exchange decides it.
func TestMaximumHasNoVerdict(t *testing.T) {
	before := blocks.Join(blocks.Rows("host", "rtt_max", 5e-3, 5.1e-3, 5e-3, 5e-3), blocks.Rows("veth", "rtt_max", 6e-3, 6.1e-3, 6e-3, 6e-3))
	after := blocks.Join(blocks.Rows("host", "rtt_max", 5e-3, 5.1e-3, 5e-3, 5e-3), blocks.Rows("veth", "rtt_max", 2.5e-3, 2.6e-3, 2.5e-3, 2.5e-3))
	in := verdict.Input{Modes: blocks.HostAnd(), Workloads: []string{"stream"}, Trials: after, Rule: verdict.Rule{Margin: 0.05}}
	cells, _ := verdict.Judge(in)
	c := cells[1]
	must.True(t, c.Verdict == "" && c.Ratio == nil && c.P == nil && c.Value != nil && c.BlocksNeeded == nil, "%+v", c)
	changes := Across(taken(before, blocks.HostAnd()...), taken(after, blocks.HostAnd()...), nil, 0.05).Cells
	must.Require(t, len(changes) == 2, "%+v", changes)
	for _, c := range changes {
		must.True(t, c.Verdict == "" && c.Ratio == nil && c.P == nil && c.Before != nil && c.After != nil && c.BlocksNeeded == nil, "%+v", c)
	}
	asked := verdict.Comparisons(in, nil, []verdict.ComparisonRequest{{ID: "x", A: []string{"veth"}, B: []string{"host"}}})
	must.True(t, len(asked) == 1 && asked[0].Verdict == "" && asked[0].Ratio == nil && asked[0].A.Value != nil, "asked for: %+v", asked)
}
