package sums

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// What is put together is what counts, and what of it has none is counted.
func TestECDFs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	trial := func(block int, mode string, median, spread float64, n int) result.Trial {
		counted := drawn(rnd, n, median, spread)
		return result.Trial{Block: block, Mode: mode, Workload: "tcp_rr", Status: result.TrialOK, Metrics: map[string]float64{"rtt_p50": median}, Distributions: []result.Distribution{*result.Distribute("rtt", counted)}}
	}
	pilot, invalid, void := trial(0, "host", 1, 0.1, 9), trial(2, "host", 1, 0.1, 9), trial(1, "void", 1, 0.1, 9)
	pilot.Pilot, invalid.Status = true, result.TrialInvalid
	bare := trial(3, "netns", 1, 0.1, 9)
	bare.Distributions = nil
	broken := trial(4, "netns", 1, 0.1, 9)
	broken.Distributions[0].Counts = nil
	wide := trial(5, "netns", 2e-5, 3, 4000)
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "netns", Status: result.ModeMeasured}, {ID: "void", Status: result.ModeVoid}}
	got := ECDFs(modes, []string{"tcp_stream", "tcp_rr"}, []result.Trial{
		pilot, trial(1, "host", 2e-5, 0.1, 100), invalid, trial(3, "host", 4e-5, 0.1, 300),
		trial(1, "netns", 2e-5, 0.1, 100), bare, broken, wide, void,
	})
	must.Require(t, len(got) == 2 && got[0].Mode == "host" && got[1].Mode == "netns" && got[1].Workload == "tcp_rr", "%+v", got)
	host, netns := got[0], got[1]
	must.EqualFor(t, fmt.Sprintf("host: %+v", host), []any{2, 0, 400.0, 0.0219}, []any{host.Trials, host.Missing, host.Count(), host.Resolution})
	// A quarter of all is of the first trial.
	a, b := host.Quantile(0.2), host.Quantile(0.3)
	must.True(t, a <= 2.8e-5 && b >= 2.8e-5, "quantiles of host: %g and %g", a, b)
	must.True(t, netns.Trials == 2 && netns.Missing == 2 && netns.Count() == 4100 && netns.Resolution >= wide.Distributions[0].Resolution,
		"netns: %d trials, %d missing, %g, resolution %g", netns.Trials, netns.Missing, netns.Count(), netns.Resolution)
}

// drawn are durations about a median, in seconds, with a long tail, and how many there are of each.
func drawn(rnd *rand.Rand, n int, median, spread float64) map[float64]int64 {
	counted := map[float64]int64{}
	for range n {
		counted[median*math.Exp(spread*rnd.NormFloat64())]++
	}
	return counted
}
