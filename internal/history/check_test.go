package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/result"
)

// simulated is how the ratios of a simulated history vary from run to run: the relative standard
// deviation of rates, that of CPU costs, and what is common to all series of a run.
type simulated struct {
	name              string
	rates, cpu, share float64
	draw              func(*rand.Rand) float64
}

// series are runs of two modes with two workloads and their CPU costs, with a change of one rate
// by a factor from a run on.
func (s simulated) series(rng *rand.Rand, n, from int, factor float64) []Run {
	common := make([]float64, n)
	for i := range common {
		common[i] = s.draw(rng)
	}
	vary := func(sd float64, from int) func(int) float64 {
		own := make([]float64, n)
		for i := range own {
			own[i] = s.draw(rng)
		}
		return func(run int) float64 {
			y := 0.8 * math.Exp(sd*(math.Sqrt(s.share)*common[run]+math.Sqrt(1-s.share)*own[run]))
			if run >= from {
				y *= factor
			}
			return y
		}
	}
	var lanes []lane
	for i, mode := range []string{"netns/bridge", "netns/vxlan"} {
		at := n
		if i == 0 {
			at = from
		}
		lanes = append(lanes,
			lane{mode, "tcp_rr", "transaction_rate", vary(s.rates, at)}, lane{mode, "tcp_rr", "cpu_cost_transactions", vary(s.cpu, n)},
			lane{mode, "tcp_stream", "goodput", vary(s.rates, n)}, lane{mode, "tcp_stream", "cpu_cost", vary(s.cpu, n)})
	}
	return made(n, lanes...)
}

func worse(c result.Changes) (out []result.Change) {
	for _, x := range c.Cells {
		if x.Verdict == result.Worse {
			out = append(out, x)
		}
	}
	return out
}

func models() []simulated {
	normal := func(r *rand.Rand) float64 { return r.NormFloat64() }
	return []simulated{
		{"normal", 0.0075, 0.015, 0, normal},
		{"normal, half of it common to all series", 0.0075, 0.015, 0.5, normal},
		// Student's t with 6 degrees of freedom, scaled to a standard deviation of 1.
		{"heavy tails", 0.0075, 0.015, 0, func(r *rand.Rand) float64 {
			chi := 0.0
			for range 6 {
				z := r.NormFloat64()
				chi += z * z
			}
			return r.NormFloat64() / math.Sqrt(chi/6) / math.Sqrt(6.0/4)
		}},
	}
}

// Of series of twenty runs without a change, at least 95 of 100 have no alarm in any of their
// checks, if the logarithms of ratios are normal.
func TestNoAlarmWithoutAChange(t *testing.T) {
	const histories = 400
	for _, model := range models() {
		rng := rand.New(rand.NewPCG(7, 8))
		alarmed, checks, alarms := 0, 0, 0
		for range histories {
			runs := model.series(rng, 20, 20, 1)
			found := false
			for i := 1; i < len(runs); i++ {
				c := Check(runs[:i], runs[i], CheckOptions{Last: 20, Margin: 0.05})
				if i < MinEarlier != (c.Basis.Reason != "") {
					t.Fatalf("run %d: %q", i, c.Basis.Reason)
				}
				checks++
				if len(worse(c)) > 0 {
					alarms++
					found = true
				}
			}
			if found {
				alarmed++
			}
		}
		t.Logf("%s: %d of %d histories with an alarm, %d of %d checks", model.name, alarmed, histories, alarms, checks)
		if model.name != "heavy tails" && alarmed > histories*5/100 {
			t.Errorf("%s: %d of %d histories of 20 runs have an alarm", model.name, alarmed, histories)
		}
	}
}

// A step of 3 % for the worse is found by one of the three checks after it.
func TestStepIsFoundWithinThreeRuns(t *testing.T) {
	const histories = 300
	for _, model := range models() {
		rng := rand.New(rand.NewPCG(9, 10))
		found := [3]int{}
		for range histories {
			runs := model.series(rng, 23, 20, 0.97)
			for after := range 3 {
				c := Check(runs[:20+after], runs[20+after], CheckOptions{Last: 20, Margin: 0.05})
				if slices.ContainsFunc(worse(c), func(x result.Change) bool { return x.Mode == "netns/bridge" && x.Metric == "transaction_rate" }) {
					found[after]++
					break
				}
			}
		}
		all := found[0] + found[1] + found[2]
		t.Logf("%s: found in the first run %d, second %d, third %d of %d", model.name, found[0], found[1], found[2], histories)
		if all < histories*95/100 {
			t.Errorf("%s: a step of 3 %% was found within three runs in %d of %d histories", model.name, all, histories)
		}
	}
}
