package verdict

import (
	"encoding/json"
	"math"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// An exchange of 10 us of which 0.5 us are the generator's: a mode with 15 us has 0.667 of the rate, and without them 9.5 of 14.5.
func TestOwnShares(t *testing.T) {
	end := func(own float64) *result.End { return &result.End{OwnTime: &own} }
	cell := func(mode, baseline string, value, ratio float64) result.Cell {
		return result.Cell{Mode: mode, Baseline: baseline, Workload: "rr", Metric: "transaction_rate", Value: &value, Judgement: result.Judgement{Ratio: &ratio}}
	}
	host := cell("host", "", 1e5, 0)
	host.Ratio = nil
	in := Input{Serial: []string{"rr"}}
	for _, own := range []float64{0.5e-6, 0.4e-6, 0.9e-6} {
		in.Trials = append(in.Trials, result.Trial{Block: 1, Mode: "host", Workload: "rr", Status: result.TrialOK, Client: end(own)})
	}
	in.Trials = append(in.Trials, result.Trial{Block: 1, Mode: "host", Workload: "rr", Status: result.TrialInvalid, Client: end(9)}, result.Trial{Block: 1, Mode: "host", Workload: "rr", Status: result.TrialOK})
	cells := []result.Cell{host, cell("m", "host", 1e5/1.5, 1/1.5)}
	got := OwnShares(in, []string{"rr"}, cells)
	must.True(t, len(got) == 1 && math.Abs(got[0].Share-0.05) <= 1e-12 && len(got[0].Modes) == 1 && math.Abs(got[0].Modes[0].Ratio-9.5/14.5) <= 1e-12, "%+v", got)
	serial := in
	in.Serial = nil
	if got := OwnShares(in, []string{"rr"}, cells); len(got) != 1 || !got[0].Overlapping || math.Abs(got[0].Share-0.05) > 1e-12 || got[0].Modes != nil {
		t.Errorf("of exchanges that overlap: %+v", got)
	}
	if got := OwnShares(serial, nil, cells); got != nil {
		t.Errorf("of a schedule: %+v", got)
	}
	// Connections are exchanges, too.
	for i := range cells {
		cells[i].Metric = "connection_rate"
	}
	if got := OwnShares(serial, []string{"rr"}, cells); len(got) != 1 || len(got[0].Modes) != 1 {
		t.Errorf("of connections: %+v", got)
	}
	// What no trial says, or what cannot be, is unknown, and not 0.
	for name, own := range map[string]*float64{"none": nil, "longer than an exchange": new(1.0)} {
		for i := range serial.Trials {
			serial.Trials[i].Client = &result.End{OwnTime: own}
		}
		got := OwnShares(serial, []string{"rr"}, cells)
		text, err := json.Marshal(got)
		must.True(t, err == nil && string(text) == `[{"workload":"rr","baseline":"host"}]`, "%s: %s, %v", name, text, err)
	}
}
