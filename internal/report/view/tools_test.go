package view

import (
	"tare/internal/result"
)

// twoTools is a run over UDP that its generator limited, and that a second tool
// verified.
func twoTools() Input {
	modes := sampleModes()[:2]
	base, other := modes[0].ID, modes[1].ID
	cell := func(mode, metric, unit string, better result.Direction, value float64) result.Cell {
		c := result.Cell{Mode: mode, Workload: "udp_stream", Metric: metric, Unit: unit, Better: better, N: 4, Value: new(value)}
		if mode == other {
			c.Baseline, c.Verdict, c.Margin = base, result.CannotTell, 0.1
		}
		return c
	}
	in := Input{Run: result.Run{Schema: result.Schema, ID: "0badcafe", Status: result.RunComplete, Profile: "standard", Seed: 7, Modes: modes, Trials: result.Tally{OK: 8}}}
	for _, mode := range []string{base, other} {
		bound := cell(mode, "goodput", "bit/s", result.Higher, 9e8)
		bound.AtLeast = mode == other
		if mode == other {
			bound.Ratio, bound.RatioCI = new(0.9), &result.Interval{0.8, 1}
		}
		in.Run.Cells = append(in.Run.Cells, bound,
			cell(mode, "offered_load", "bit/s", result.Higher, 9e8),
			cell(mode, "loss_ratio", "ratio", result.Lower, 0.012),
			cell(mode, "duplicates", "datagrams", result.Lower, 3),
			cell(mode, "late", "datagrams", result.Lower, 0))
	}
	of := func(agree result.Agree, ratio *float64, ci *result.Interval) result.Agreement {
		return result.Agreement{Workload: "udp_stream", Twin: "udp_stream.iperf3", Tool: "iperf3", Mode: other, Metric: "goodput", N: 4, Ratio: ratio, RatioCI: ci, Agree: agree}
	}
	in.Run.Agreements = []result.Agreement{
		of(result.AgreeYes, new(1.01), &result.Interval{0.97, 1.05}),
		of(result.AgreeNo, new(0.5), &result.Interval{0.4, 0.6}),
		of(result.AgreeCannotTell, nil, nil),
	}
	return in
}
