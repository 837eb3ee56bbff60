package term

import (
	"strings"
	"time"

	"tare/internal/live"
	"tare/internal/result"
)

// began is when the runs of these tests began.
func began() time.Time { return time.Date(2026, 8, 1, 9, 30, 12, 0, time.UTC) }

func p(v float64) *float64 { return &v }

// opening is the beginning of a run: the modes are set up.
func opening() []live.Event {
	return []live.Event{
		live.Planned{
			RunID: "7f3a", Dir: "runs/7f3a", Profile: "quick", Modes: []string{"host", "netns/bridge", "netns/vxlan", "netns/ipvlan", "docker/overlay-encrypted"},
			Columns: []live.Column{{Workload: "tcp_stream", Metric: "goodput"}, {Workload: "tcp_rr", Metric: "transaction_rate"}, {Workload: "udp_stream", Metric: "goodput"}},
			Trials:  75, Blocks: 5, MinBlocks: 3, Estimate: 8*time.Minute + 20*time.Second, MinTime: 4 * time.Minute,
		},
		live.ModeSettled{Mode: "host", Status: result.ModeMeasured, Took: 120 * time.Millisecond},
		live.ModeSettled{Mode: "netns/ipvlan", Status: result.ModeUnsupported, Reason: "the kernel has no ipvlan: load the module ipvlan, or leave the mode out of the study"},
		live.WarningRaised{Warning: result.Warning{Code: "shared_kernel", Scope: "run", Text: "both hosts share one kernel and its cores: the wire is not in it"}},
	}
}

// middle is a run in its third block.
func middle() []live.Event {
	out := append(opening(),
		live.ModeSettled{Mode: "netns/bridge", Status: result.ModeMeasured},
		live.ModeSettled{Mode: "netns/vxlan", Status: result.ModeMeasured},
		live.ModeSettled{Mode: "docker/overlay-encrypted", Status: result.ModeMeasured},
		live.Decision{Text: "tcp_stream from block 1 on: 0.5 s warm-up, 4 s timed (quick settles)"},
	)
	modes := []string{"host", "netns/bridge", "netns/vxlan", "docker/overlay-encrypted"}
	ended := func(mode, workload, metric string, v float64) {
		out = append(out, live.TrialEnded{Trial: result.Trial{Block: 1, Mode: mode, Workload: workload, Status: result.TrialOK, Metrics: map[string]float64{metric: v}}})
	}
	for i, m := range modes {
		ended(m, "tcp_stream", "goodput", 23.4e9-float64(i)*4.4e9)
		ended(m, "tcp_rr", "transaction_rate", 32.1e3-float64(i)*3e3)
	}
	ratio := func(mode, workload, metric string, v, r, lo, hi float64) result.Cell {
		c := result.Cell{Mode: mode, Workload: workload, Metric: metric, Value: &v, N: 2}
		if r > 0 {
			c.Ratio, c.RatioCI = &r, &result.Interval{lo, hi}
		}
		return c
	}
	out = append(out,
		live.Provisional{Blocks: 2, Cells: []result.Cell{
			ratio("host", "tcp_stream", "goodput", 23.4e9, 0, 0, 0), ratio("netns/bridge", "tcp_stream", "goodput", 19.1e9, 0.816, 0.79, 0.84),
			ratio("netns/vxlan", "tcp_stream", "goodput", 9.96e9, 0.4256, 0.4, 0.451), ratio("docker/overlay-encrypted", "tcp_stream", "goodput", 1.2e9, 0.051, 0.047, 0.056),
			ratio("host", "tcp_rr", "transaction_rate", 32.1e3, 0, 0, 0), ratio("netns/bridge", "tcp_rr", "transaction_rate", 29.9e3, 0.93, 0.61, 1.43),
			ratio("netns/bridge", "tcp_stream", "retransmits", 3, 1.1, 0.2, 3),
		}},
		live.ModeSettled{Mode: "docker/overlay-encrypted", Status: result.ModeVoid, Reason: "the path was not proven: xfrm did not move"},
		live.WarningRaised{Warning: result.Warning{Code: "steal", Scope: "a", Text: "another guest takes CPU time"}},
		live.TrialStarted{Done: 30, Total: 75, Block: 3, Blocks: 5, Modes: modes[:3], Workload: "tcp_stream", Attempt: 1, Remaining: 3*time.Minute + 12*time.Second},
		live.TrialEnded{Trial: result.Trial{Block: 3, Mode: "host", Workload: "udp_stream", Status: result.TrialInvalid, Reason: "steal", Metrics: map[string]float64{"goodput": 1}}},
		live.Progress{Mode: "netns/vxlan", Workload: "tcp_rr", Rate: 1, Unit: "1/s"}, // late, of the trial before
	)
	for i := range 20 {
		for m, mode := range modes[:2] {
			out = append(out, live.Progress{Mode: mode, Workload: "tcp_stream", Elapsed: time.Duration(i) * time.Second, Unit: "bit/s", Rate: 23e9 - float64(m)*4e9 - float64(i*i%7)*2e9})
		}
	}
	return out
}

// evil contains modes, reasons and warnings that try to control a terminal.
func evil() []live.Event {
	s := "\x1b]0;pwned\x07\x1b[2J\u202e\r\n\tfake line\x9b31m" + strings.Repeat("界", 5)
	long := strings.Repeat(s, 150)
	return []live.Event{
		live.Planned{RunID: s, Profile: s, Modes: []string{s, long}, Columns: []live.Column{{Workload: long, Metric: long}}},
		live.ModeSettled{Mode: s, Status: result.ModeStatus(s), Reason: long},
		live.ModeSettled{Mode: long, Status: result.ModeMeasured},
		live.TrialStarted{Modes: []string{s, long}, Workload: long, Total: -1, Done: 5, Blocks: 1, Remaining: -1},
		live.Progress{Mode: s, Workload: long, Unit: s, Rate: -1},
		live.Progress{Mode: s, Workload: long, Unit: s, Rate: 1},
		live.Provisional{Blocks: -3, Cells: []result.Cell{{Mode: s, Workload: s, Metric: "goodput", Value: p(-1), Judgement: result.Judgement{Ratio: p(-5)}}}},
		live.WarningRaised{Warning: result.Warning{Code: s, Scope: s}},
		live.Decision{Text: long},
		live.Moved{Dir: s},
	}
}

// nothing is a run with almost no information.
func nothing() []live.Event {
	return []live.Event{live.Decision{}, live.TrialEnded{}, live.WarningRaised{}, live.Provisional{}, live.Progress{}, live.ModeSettled{Mode: "m"}}
}
