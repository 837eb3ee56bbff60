package analysis

import (
	"math"
	"testing"

	"tare/internal/result"
)

// An exchange of 10 us of which 0.5 us are the generator's: a mode with 15 us has 0.667 of the rate, and without them 9.5 of 14.5.
func TestOwnShares(t *testing.T) {
	end := func(own float64) *result.End { return &result.End{OwnTime: &own} }
	cell := func(mode, baseline string, value, ratio float64) result.Cell {
		return result.Cell{Mode: mode, Baseline: baseline, Workload: "rr", Metric: "transaction_rate", Value: &value, Ratio: &ratio}
	}
	host := cell("host", "", 1e5, 0)
	host.Ratio = nil
	in := Input{Serial: []string{"rr"}}
	for _, own := range []float64{0.5e-6, 0.4e-6, 0.9e-6} {
		in.Trials = append(in.Trials, result.Trial{Block: 1, Mode: "host", Workload: "rr", Status: result.TrialOK, Client: end(own)})
	}
	in.Trials = append(in.Trials, result.Trial{Block: 1, Mode: "host", Workload: "rr", Status: result.TrialInvalid, Client: end(9)}, result.Trial{Block: 1, Mode: "host", Workload: "rr", Status: result.TrialOK})
	cells := []result.Cell{host, cell("m", "host", 1e5/1.5, 1/1.5)}
	got := OwnShares(in, cells)
	if len(got) != 1 || math.Abs(got[0].Share-0.05) > 1e-12 || len(got[0].Modes) != 1 || math.Abs(got[0].Modes[0].Ratio-9.5/14.5) > 1e-12 {
		t.Errorf("%+v", got)
	}
	in.Serial = nil
	if got := OwnShares(in, cells); got != nil {
		t.Errorf("of exchanges that overlap: %+v", got)
	}
}
