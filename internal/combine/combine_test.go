package combine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/combine"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// made is a run of netns/bridge on a machine, with a log ratio and its standard error from 7 blocks.
func made(id, machine string, logRatio, stdErr float64) result.Run {
	const t975 = 2.446912 // of 6 degrees of freedom
	ratio := math.Exp(logRatio)
	return result.Run{
		ID: id, Status: result.RunComplete, Trials: result.Tally{OK: 14},
		Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "cpu_model", Value: machine}, {Name: "cpus_online", Value: "4 (0-3)"}}}},
		Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "netns/bridge", Baseline: "host", Status: result.ModeMeasured}},
		Cells: []result.Cell{
			{Mode: "host", Workload: "tcp_rr", Metric: "transaction_rate", Unit: "1/s", Better: result.Higher, N: 7, Value: new(4e4)},
			{Mode: "netns/bridge", Baseline: "host", Workload: "tcp_rr", Metric: "transaction_rate", Unit: "1/s", Better: result.Higher, N: 7, Value: new(4e4 * ratio), Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{math.Exp(logRatio - t975*stdErr), math.Exp(logRatio + t975*stdErr)}},
				Added: &result.Added{Amount: result.Amount{Value: 1/(4e4*ratio) - 1/4e4}, Unit: "s/transaction"}},
		},
	}
}

func combined(t *testing.T, opt combine.Options, runs ...result.Run) result.Combination {
	t.Helper()
	opt.Margin = 0.05
	set := combine.Set{Options: opt}
	for i, r := range runs {
		must.Equal(t, []string(nil), set.Add(fmt.Sprintf("run%d", i), r, nil))
	}
	return set.Combined("study")
}

func within(t *testing.T, what string, want, got float64) {
	t.Helper()
	must.True(t, math.Abs(got-want) <= 1e-5, "%s: %.6f, want %.6f", what, got, want)
}

// Three machines with equal errors: by hand, the mean is that of the logarithms with their t interval, the spread what their variance
// has above that of the errors, and the range that of a fourth value.
func TestMachines(t *testing.T) {
	c := combined(t, combine.Options{}, made("1", "A", -0.10, 0.01), made("2", "B", -0.20, 0.01), made("3", "C", -0.30, 0.01))
	must.Equal(t, 1, len(c.Ratios))
	r := c.Ratios[0]
	must.Equal(t, result.UnitMachine, r.Unit)
	must.Equal(t, 3, r.N)
	const sd, t975 = 0.1, 4.302653 // of 2 degrees of freedom
	within(t, "mean", -0.2, math.Log(*r.Ratio))
	within(t, "lower limit", -0.2-t975*sd/math.Sqrt(3), math.Log(r.RatioCI[0]))
	within(t, "spread", math.Sqrt(sd*sd-0.01*0.01), r.Spread)
	within(t, "next", -0.2+t975*sd*math.Sqrt(1+1.0/3), math.Log(r.Next[1]))
	must.Equal(t, result.CannotTell, r.Verdict) // p is 0.07
	must.Equal(t, result.CannotTell, r.NextVerdict)
	within(t, "lowest time", (math.Exp(0.1)-1)/4e4*1e6, r.Time[0]*1e6)
	within(t, "highest time", (math.Exp(0.3)-1)/4e4*1e6, r.Time[1]*1e6)
	c = combined(t, combine.Options{}, made("1", "A", -0.20, 0.01), made("2", "B", -0.21, 0.01), made("3", "C", -0.22, 0.01))
	must.Equal(t, result.Worse, c.Ratios[0].Verdict)
	must.Equal(t, result.Worse, c.Ratios[0].NextVerdict)
	c = combined(t, combine.Options{}, made("1", "A", 0, 0.001), made("2", "B", 0.001, 0.001), made("3", "C", -0.001, 0.001))
	must.Equal(t, result.Same, c.Ratios[0].Verdict)
	must.Equal(t, result.Same, c.Ratios[0].NextVerdict)
}

// Two machines have a mean and no range, with the reason, and no verdict.
func TestTwoMachines(t *testing.T) {
	r := combined(t, combine.Options{}, made("1", "A", -0.20, 0.01), made("2", "B", -0.21, 0.01)).Ratios[0]
	must.Equal(t, result.CannotTell, r.Verdict)
	must.True(t, r.Next == nil && strings.HasPrefix(r.NoNext, "a range takes at least 3 machines") && r.NextVerdict == "", "%+v", r)
}

// A machine counts once: ten runs of one beside two others do not outweigh them, and are one unit with the spread of its days.
func TestOneMachineTwice(t *testing.T) {
	runs := []result.Run{made("b", "B", -0.30, 0.01), made("c", "C", -0.30, 0.01)}
	for i := range 10 {
		runs = append(runs, made(fmt.Sprint(i), "A", -0.10+0.02*float64(i%2), 0.01))
	}
	c := combined(t, combine.Options{}, runs...)
	r := c.Ratios[0]
	must.Equal(t, 3, r.N)
	must.Equal(t, 3, len(c.Machines))
	must.Equal(t, 10, c.Machines[2].Runs)
	must.Equal(t, 10, len(r.Units[2].Runs))
	within(t, "machine A", -0.09, math.Log(r.Units[2].Ratio))
	if mean := math.Log(*r.Ratio); mean > -0.22 || mean < -0.24 {
		t.Errorf("mean %.3f, want about -0.23", mean)
	}
	// Only one machine: its runs are the units, and the range is that of its next run.
	c = combined(t, combine.Options{}, runs[2:]...)
	must.Equal(t, result.UnitRun, c.Ratios[0].Unit)
	must.Equal(t, 10, c.Ratios[0].N)
	must.True(t, c.Ratios[0].Next != nil, "no range of the next run")
	// Machines of one model, by request.
	must.Equal(t, 10, len(combined(t, combine.Options{Distinct: true}, runs[2:]...).Machines))
	// Two machines, and a ratio that only one of them has.
	other := made("x", "A", -0.1, 0.01)
	other.Cells = append(other.Cells, other.Cells[1])
	other.Cells[2].Workload = "tcp_crr"
	again := other
	again.ID = "y"
	third := made("z", "A", -0.1, 0.01)
	third.Cells = append(third.Cells, other.Cells[2])
	c = combined(t, combine.Options{}, runs[0], other, again, third)
	must.Equal(t, 2, len(c.Ratios))
	must.Equal(t, result.UnitRun, c.Ratios[1].Unit)
	must.Equal(t, "all runs that have it are of one machine", c.Ratios[1].NoNext)
}

// What cannot be combined is refused with the reason.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*result.Run){
		"it has no valid trial":                                     func(r *result.Run) { r.Trials.OK = 0 },
		"it is the same run as run0: both have the id 1":            func(r *result.Run) { r.ID = "1" },
		"mode netns/bridge has the baseline none, and host in run0": func(r *result.Run) { r.Modes[1].Baseline = "" },
		"metric transaction_rate is in 1/min (higher is better), and in 1/s (higher is better) in the runs before it: another version of tare measured it": func(r *result.Run) {
			r.Cells[0].Unit, r.Cells[1].Unit = "1/min", "1/min"
		},
	} {
		var set combine.Set
		must.Equal(t, 0, len(set.Add("run0", made("1", "A", -0.1, 0.01), nil)))
		bad := made("2", "B", -0.1, 0.01)
		change(&bad)
		must.Equal(t, []string{want}, set.Add("run1", bad, nil))
		must.Equal(t, 0, len(set.Add("run2", made("3", "C", -0.1, 0.01), nil)))
		must.Equal(t, 2, len(set.Combined("").Runs))
	}
}

// What has no error is left out with the reason, and the rest is combined.
func TestLeftOut(t *testing.T) {
	for want, change := range map[string]func(*result.Run){
		"too noisy to judge":  func(r *result.Run) { r.NoisyWorkloads = []string{"tcp_rr"} },
		"fewer than 3 blocks": func(r *result.Run) { r.Cells[1].N = 2 },
		"transaction_rate has no ratio: a value is 0, or no block has both the mode and its baseline": func(r *result.Run) { r.Cells[1].Ratio = nil },
		"its values are not in blocks, so that the error of a ratio is not recorded":                  func(r *result.Run) { r.Cells[1].Unpaired = true },
		"its interval is no interval of a ratio":                                                      func(r *result.Run) { r.Cells[1].RatioCI = &result.Interval{-1, 2} },
		"void: the bridge did not count": func(r *result.Run) {
			r.Modes[1].Status, r.Modes[1].Reason, r.Cells = result.ModeVoid, "the bridge did not count", r.Cells[:1]
		},
	} {
		bad := made("4", "D", -5, 0.01)
		change(&bad)
		c := combined(t, combine.Options{}, made("1", "A", -0.1, 0.01), made("2", "B", -0.1, 0.01), made("3", "C", -0.1, 0.01), bad)
		must.Equal(t, 3, c.Ratios[0].N)
		must.Equal(t, 1, len(c.LeftOut))
		must.Equal(t, want, c.LeftOut[0].Reason)
		must.Equal(t, 3, c.LeftOut[0].Run)
	}
	only := made("1", "A", -0.1, 0.01)
	only.Cells[1].Workload = "tcp_crr"
	c := combined(t, combine.Options{}, only, made("2", "B", -0.1, 0.01))
	must.Equal(t, 0, len(c.Ratios))
	must.Equal(t, "no other run has it", c.LeftOut[0].Reason)
}

// A lower bound in any run takes away the verdict that it does not support.
func TestLowerBound(t *testing.T) {
	slow := made("3", "C", -0.22, 0.01)
	slow.Cells[1].AtLeast = true
	r := combined(t, combine.Options{}, made("1", "A", -0.20, 0.01), made("2", "B", -0.21, 0.01), slow).Ratios[0]
	must.Equal(t, result.CannotTell, r.Verdict)
}

// Of two runs each on k machines, with a spread between days as large as the errors, intervals of the mean and ranges of a run on the
// next machine hold; the latter are wider than needed, because the spread between days is known from two of them.
func TestDaysCoverage(t *testing.T) {
	const rounds, blocks = 1000, 7
	for _, k := range []int{3, 5} {
		for _, tau := range []float64{0, 1, 3} {
			rnd := rand.New(rand.NewPCG(uint64(k), uint64(tau)))
			mean, next := 0, 0
			for range rounds {
				set := combine.Set{Options: combine.Options{Margin: 0.05}}
				var last float64
				for m := range k + 1 {
					level := 0.01 * tau * rnd.NormFloat64()
					for day := range 2 {
						var sum, squares float64
						of := level + 0.01*rnd.NormFloat64()
						for range blocks {
							x := of + 0.01*math.Sqrt(blocks)*rnd.NormFloat64()
							sum, squares = sum+x, squares+x*x
						}
						y := sum / blocks
						if last = y; m == k {
							continue // the next machine
						}
						set.Add("run", made(fmt.Sprint(m, day), fmt.Sprint(m), y, math.Sqrt((squares/blocks-y*y)/(blocks-1))), nil)
					}
				}
				r := set.Combined("").Ratios[0]
				if r.RatioCI[0] <= 1 && 1 <= r.RatioCI[1] {
					mean++
				}
				if y := math.Exp(last); r.Next[0] <= y && y <= r.Next[1] {
					next++
				}
			}
			covers, range95 := 100*float64(mean)/rounds, 100*float64(next)/rounds
			t.Logf("%d machines, 2 days each, spread %g errors: mean %.1f %%, next machine %.1f %%", k, tau, covers, range95)
			must.True(t, covers >= 91.5 && covers <= 99.5 && range95 >= 91.5, "%d machines, spread %g: mean %.1f %%, next machine %.1f %%", k, tau, covers, range95)
		}
	}
}
