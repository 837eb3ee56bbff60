package reports

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/report/view/model"
	"tare/internal/result"
)

// Drawable is a run of three modes with all that charts are made of: series, percentiles,
// searches, trials that failed, were ruled out and whose path was not proven.
func Drawable(blocks int) model.Input {
	in := model.Input{Run: result.Run{Status: result.RunComplete, Modes: []result.Mode{
		{ID: "host", Status: result.ModeMeasured},
		{ID: "m", Baseline: "host", Status: result.ModeMeasured},
		{ID: "gone", Baseline: "host", Status: result.ModeUnsupported, Reason: "the kernel has no such link"},
	}}}
	at := time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC)
	add := func(t result.Trial) {
		t.Seq, t.Started = len(in.Trials)+1, at
		at = at.Add(time.Second)
		in.Trials = append(in.Trials, t)
	}
	for b := 1; b <= blocks; b++ {
		for i, mode := range []string{"host", "m"} {
			v := 1e9 * (1 + 0.1*float64(b%3)) / float64(i+1)
			add(result.Trial{Block: b, Mode: mode, Workload: "tcp_stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": v},
				Series: &result.Series{Metric: "goodput", Interval: 0.1, Values: []float64{v, v * 1.1, v * 0.9, v, v, v, v, v}}})
			add(result.Trial{Block: b, Mode: mode, Workload: "udp_search", Status: result.TrialOK, Metrics: map[string]float64{"throughput_0": 0.8 * v, "throughput_1": 0.9 * v},
				Search: &result.Search{Payload: 1000}, Steps: []result.Step{{Load: v / 8000, LossRatio: 0.02}, {Load: v / 9000}, {Load: 2 * v / 8000, Limited: true}}})
		}
	}
	add(result.Trial{Block: 1, Mode: "m", Workload: "tcp_stream", Status: result.TrialFailed, Reason: "dial: timeout"})
	add(result.Trial{Block: 1, Mode: "m", Workload: "tcp_stream", Status: result.TrialFailed, Void: true, Reason: "another way"})
	add(result.Trial{Block: 1, Mode: "m", Workload: "tcp_stream", Status: result.TrialInvalid, Reason: "steal", Metrics: map[string]float64{"goodput": 0.4e9}})
	in.Run.Cells = []result.Cell{
		{Mode: "host", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: blocks, Value: new(1.1e9)},
		{Mode: "m", Workload: "tcp_stream", Metric: "goodput", Unit: "bit/s", Better: result.Higher, N: blocks, Baseline: "host", Value: new(0.55e9),
			Judgement: result.Judgement{Ratio: new(0.97), RatioCI: &result.Interval{0.9, 1.05}, Margin: 0.05, Verdict: result.CannotTell, BlocksNeeded: new(9)}},
		{Mode: "host", Workload: "udp_search", Metric: "throughput_0", Unit: "bit/s", Better: result.Higher, N: blocks, Value: new(0.8e9)},
		{Mode: "m", Workload: "udp_search", Metric: "throughput_0", Unit: "bit/s", Better: result.Higher, N: blocks, Baseline: "host", Value: new(0.4e9), Judgement: result.Judgement{Ratio: new(0.5), RatioCI: &result.Interval{0.48, 0.52}, Verdict: result.Worse}},
		{Mode: "host", Workload: "udp_search", Metric: "throughput_1", Unit: "bit/s", Better: result.Higher, N: blocks, Value: new(0.9e9), AtLeast: true},
	}
	return in
}

// SetUp is Drawable with how long set-ups took and which connections failed.
func SetUp() model.Input {
	in := Drawable(3)
	low, high := 0.2, 0.31
	one := result.Percentile{Value: 0.25, Low: &low, High: &high}
	in.Run.SetupTimes = []result.SetupTime{
		{Mode: "host", Workload: "setup", Metric: result.SetupConnect, Setups: 36, P50: one, P90: one},
		{Mode: "m", Workload: "setup", Metric: result.SetupSandbox, Setups: 36, P50: one, P90: result.Percentile{Value: 0.3, Low: &low}},
		{Mode: "m", Workload: "setup", Step: "ADD bridge", Setups: 35, P50: one, P90: one},
	}
	in.Run.Attempts = []result.AttemptSummary{
		{Mode: "host", Workload: "tcp_crr", Setups: 7, Attempts: result.Attempts{Tried: 120000}, FailedShare: result.Share{High: 0.000025}, LateShare: result.Share{High: 0.000025}},
		{Mode: "m", Workload: "tcp_crr", Setups: 7, Attempts: result.Attempts{Tried: 12000, TimedOut: 1, Refused: 5, Late: 3},
			FailedShare: result.Share{Value: 0.0005, Low: 0.00018, High: 0.0011}, LateShare: result.Share{Value: 0.00025, Low: 0.00005, High: 0.00073}},
	}
	return in
}

// Concurrent is a run of tcp_rr at several numbers of flows, in which the curves of two
// modes cross at 12 flows, and a third mode was not measured.
func Concurrent() model.Input {
	of := plan.Concurrency{Workload: "tcp_rr", Key: "flows", Counts: []int{1, 4, 16, 64, 256}}
	for _, n := range of.Counts {
		of.Names = append(of.Names, fmt.Sprintf("tcp_rr@%dflows", n))
	}
	run := result.Run{
		Schema: result.Schema, ID: "c0ffee01", Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 3, 9, 4, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.3.0"}, Seed: 11, Profile: "standard",
		Modes: []result.Mode{
			{ID: "host", Title: "The host's own stack, over the underlay", Status: result.ModeMeasured},
			{ID: "rootless/pasta", Title: "A user-mode network", Baseline: "host", Status: result.ModeMeasured},
			{ID: "rootless/slirp4netns", Title: "Another user-mode network", Baseline: "host", Status: result.ModeMeasured},
			{ID: "netns/ipvlan", Title: "ipvlan in L2 mode", Baseline: "host", Status: result.ModeUnsupported, Reason: "the kernel has no ipvlan"},
		},
	}
	rng := rand.New(rand.NewPCG(3, 5))
	var trials []result.Trial
	for block := 1; block <= 8; block++ {
		for i, n := range of.Counts {
			host := 40e3 * math.Pow(float64(n), 0.3) * (1 + 0.05*rng.NormFloat64())
			slow := host * 0.3
			for j, v := range []float64{host, slow * math.Exp(0.08*math.Log2(float64(n)/12)), slow} {
				v *= 1 + 0.02*rng.NormFloat64()
				trials = append(trials, result.Trial{Schema: result.TrialSchema, Seq: len(trials) + 1, Block: block, Mode: run.Modes[j].ID, Workload: of.Names[i], Attempt: 1,
					Status: result.TrialOK, Started: run.Started, Metrics: map[string]float64{"transaction_rate": math.Round(v), "rtt_p99": 3 * float64(n) / v * (1 + 0.05*rng.NormFloat64())}})
			}
		}
	}
	in := verdict.Input{Modes: run.Modes, Workloads: of.Names, Trials: trials, Rule: verdict.Rule{Margin: 0.05}}
	run.Cells, _ = verdict.Judge(in)
	run.Trials = result.Count(trials)
	found, _ := verdict.Crossings(in, of)
	run.Concurrencies = []result.Concurrency{found}
	return model.Input{Run: run, Trials: trials, Title: "Concurrency"}
}

// tailed are n durations about a median, of which ever fewer took ever longer.
func tailed(median float64, n int64) result.Distribution {
	durations := map[float64]int64{}
	for i := range 12 {
		durations[median*(0.7+0.05*float64(i))] += n / 12
	}
	for i, left := 0, n/100; left > 0; i, left = i+1, left/3 {
		durations[median*2*math.Exp2(float64(i)/2)] += left
	}
	return *result.Distribute("rtt", durations)
}

// WithECDFs is the sample with whole distributions of two modes; of the others it has
// percentiles.
func WithECDFs() model.Input {
	in := Sample()
	for i, mode := range []string{"host", "netns/vxlan", "netns/macvlan"} {
		in.Run.ECDFs = append(in.Run.ECDFs, result.ECDF{Mode: mode, Workload: "tcp_rr", Trials: 4 - i, Missing: i, Distribution: tailed(22e-6*float64(i+1), 120000)})
	}
	return in
}

// Settled is a standard run with all that the method adds: pilot trials, an A/A
// control, a mode in two bands, a rate search, a sweep, trials that were ruled out
// and run once more, comparisons of ratios and with an expectation.
func Settled() model.Input {
	run := result.Run{
		Schema: result.Schema, ID: "5e771ed0", Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 3, 9, 11, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.3.0"}, Seed: 11, Profile: "standard",
		Modes: []result.Mode{
			{ID: "host", Title: "The host's own stack, over the underlay", Status: result.ModeMeasured},
			{ID: "netns/bridge", Title: "A container on each host's bridge", Baseline: "host", Status: result.ModeMeasured},
			{ID: "netns/vxlan", Title: "VXLAN overlay between hosts", Baseline: "host", Status: result.ModeMeasured},
			{ID: "control", Title: "The baseline once more", Baseline: "host", Control: true, Status: result.ModeMeasured},
		},
		Stopping: &result.Stopping{Blocks: 9, Reason: result.StopSettled, MinBlocks: 7, MostBlocks: 12, ExtraBlocks: 2, Width: 0.025, SettledAt: 7,
			Unsettled: []result.Unsettled{{Mode: "netns/vxlan", Workload: "tcp_stream", Metric: "goodput", Width: new(0.041)}}},
		Pilots: []result.Pilot{
			{Mode: "host", Workload: "tcp_stream", Length: 15, Warmup: new(1.0)},
			{Mode: "netns/bridge", Workload: "tcp_stream", Length: 15, Warmup: new(2.5)},
			{Mode: "netns/vxlan", Workload: "tcp_stream", Length: 15, Warmup: new(1.5), Unsettled: true},
			{Mode: "control", Workload: "tcp_stream", Reason: "its pilot trial is failed: dial 198.18.0.2:40001: i/o timeout"},
		},
		Lengths: []result.Length{
			{Workload: "tcp_stream", FromBlock: 1, Warmup: 2.5, Duration: 5, Reason: "the longest warm-up that a pilot trial showed, 0.5 s to 5.0 s"},
			{Workload: "tcp_stream", FromBlock: 4, Warmup: 2.5, Duration: 8, Reason: "best for the time that it takes"},
		},
		Scenarios: []result.Scenario{
			{ID: "a", Title: "Raw", Mode: "host", Workload: "tcp_stream"}, {ID: "b", Title: "Bridge", Mode: "netns/bridge", Workload: "tcp_stream"},
			{ID: "c", Title: "Raw datagrams", Mode: "host", Workload: "udp_sweep@1Gbit/s"}, {ID: "d", Title: "Datagrams over a bridge", Mode: "netns/bridge", Workload: "udp_sweep@1Gbit/s"},
		},
	}
	level := map[string]float64{"host": 20, "netns/bridge": 15.8, "netns/vxlan": 12, "control": 20}
	var trials []result.Trial
	add := func(t result.Trial) {
		t.Schema, t.Seq, t.Attempt, t.Started = result.TrialSchema, len(trials)+1, 1, run.Started
		if t.Status == "" {
			t.Status = result.TrialOK
		}
		trials = append(trials, t)
	}
	for i, m := range run.Modes {
		p := result.Trial{Pilot: true, Mode: m.ID, Workload: "tcp_stream", Metrics: map[string]float64{"goodput": 99e9}}
		if i == 3 {
			p.Metrics, p.Status, p.Reason = nil, result.TrialFailed, "dial 198.18.0.2:40001: i/o timeout"
		}
		add(p)
	}
	for block := 1; block <= 9; block++ {
		for i, m := range run.Modes {
			wave := 1 + 0.008*math.Sin(float64(7*block+3*i))
			v := level[m.ID] * wave
			if m.ID == "netns/bridge" && block%3 == 0 {
				v = 12.1 * wave // every third trial in a lower band
			}
			stream := result.Trial{Block: block, Mode: m.ID, Workload: "tcp_stream", Metrics: map[string]float64{"goodput": v * 1e9, "retransmits": float64(20 + (block*7+i*3)%11)}}
			add(stream)
			add(result.Trial{Block: block, Mode: m.ID, Workload: "tcp_rr", Metrics: map[string]float64{"transaction_rate": level[m.ID] * 2e3 * wave}})
			for j, rate := range []string{"200Mbit/s", "500Mbit/s", "1Gbit/s"} {
				lost := 0.0
				if j == 2 && (m.ID == "netns/vxlan" || m.ID == "netns/bridge" && block == 4) {
					lost = 0.02 * wave
				}
				add(result.Trial{Block: block, Mode: m.ID, Workload: "udp_sweep@" + rate, Metrics: map[string]float64{"goodput": []float64{2e8, 5e8, 1e9}[j] * (1 - lost), "loss_ratio": lost}})
			}
			if block == 1 || block == 3 || block == 5 {
				add(searchTrial(block, m.ID, level[m.ID]*wave*4e4))
			}
		}
	}
	for i := range run.Modes { // block 2 of tcp_rr again, because one of the set was ruled out
		for j := range trials {
			if t := &trials[j]; t.Block == 2 && t.Workload == "tcp_rr" && t.Mode == run.Modes[i].ID {
				again := *t
				again.Requeued = true
				if i == 1 {
					t.Status, t.Reason = result.TrialInvalid, "the hypervisor took 3.1 % of a CPU, more than 2 %"
				}
				add(again)
				break
			}
		}
	}
	in := verdict.Input{Modes: run.Modes, Workloads: []string{"tcp_stream", "tcp_rr", "udp_sweep@200Mbit/s", "udp_sweep@500Mbit/s", "udp_sweep@1Gbit/s", "udp_search"}, Trials: trials, Rule: verdict.Rule{Margin: 0.05}}
	run.Cells, run.Warnings = verdict.Judge(in)
	for i := range run.Cells { // as of a run with more blocks, of which bands are claimed
		if c := &run.Cells[i]; c.Mode == "netns/bridge" && c.Workload == "tcp_stream" && c.Metric == "goodput" {
			c.Bands = &result.Bands{Low: result.Band{N: 3, Value: 12.1e9}, High: result.Band{N: 6, Value: 15.8e9}}
		}
	}
	run.Trials = result.Count(trials)
	run.Comparisons = verdict.Comparisons(in, run.Scenarios, []verdict.ComparisonRequest{
		{ID: "(d/c)/(b/a)", Title: "did it scale", A: []string{"d", "c"}, B: []string{"b", "a"}},
		{ID: "b/a", Title: "half is expected", A: []string{"b"}, B: []string{"a"}, Expect: 0.5},
		{ID: "as expected", A: []string{"d"}, B: []string{"c"}, Expect: 0.998},
		{ID: "of modes", A: []string{"netns/vxlan", "host"}, B: []string{"netns/bridge", "host"}},
	})
	return model.Input{Run: run, Trials: trials, Title: "A standard run", Command: "tare run --profile standard --seed 11"}
}

// searchTrial is a rate search with a knee at so many datagrams a second.
func searchTrial(block int, mode string, knee float64) result.Trial {
	t := result.Trial{Block: block, Mode: mode, Workload: "udp_search", Search: &result.Search{Payload: 1448, Seconds: 31}}
	for _, at := range []float64{2, 1.2, 1.02, 1, 1, 1, 0.95, 0.95} {
		s := result.Step{Load: math.Round(knee*at/100) * 100, Duration: 1, Sent: int64(knee * at), Received: int64(math.Min(knee, knee*at))}
		s.LossRatio = math.Max(0, 1-1/at)
		t.Steps = append(t.Steps, s)
	}
	bits := 8.0 * 1448
	atLeast := mode == "host" || mode == "control"
	t.Metrics = map[string]float64{"throughput_0": knee * bits, "throughput_1": knee * 1.01 * bits}
	lossy := 0
	if mode == "netns/vxlan" {
		lossy = 1
	}
	if atLeast {
		t.AtLeast = []string{"throughput_0"}
	}
	t.Search.Goals = []result.SearchGoal{
		{Metric: "throughput_0", ExceedRatio: 0.5, Lower: new(knee), Throughput: new(knee), Regular: !atLeast, AtLeast: atLeast, Lossy: lossy, Trials: 5},
		{Metric: "throughput_1", LossGoal: 0.01, ExceedRatio: 0.5, Lower: new(knee * 1.02), Upper: new(knee * 1.03), Throughput: new(knee * 1.01), Regular: true, Trials: 5},
		{Metric: "throughput_0_strict", ExceedRatio: 0, Lower: new(knee * 0.9), Upper: new(knee), Throughput: new(knee * 0.9), Regular: true, Trials: 5},
	}
	t.Metrics["throughput_0_strict"] = knee * 0.9 * bits
	return t
}

// NoisyRun is a short run of which too many trials were ruled out, and whose control is worse
// than what it is a copy of.
func NoisyRun() model.Input {
	in := Settled()
	in.Run.ID, in.Title = "0dd0a15e", "A run that is not fit to judge"
	in.Run.Noisy = "31 of 120 trials were ruled out, more than 20 %: no difference is to be believed"
	in.Run.Comparisons, in.Run.Scenarios, in.Run.Pilots, in.Run.Lengths = in.Run.Comparisons[:2], nil, nil, nil
	in.Run.Stopping = &result.Stopping{Blocks: 12, Reason: result.StopCap, MinBlocks: 7, MostBlocks: 12, ExtraBlocks: 2, Width: 0.025,
		Unsettled: []result.Unsettled{{Mode: "netns/vxlan", Workload: "tcp_rr", Metric: "transaction_rate", Width: new(0.3)}, {Mode: "netns/bridge", Workload: "tcp_rr", Metric: "transaction_rate"}}}
	var cells []result.Cell
	for _, c := range in.Run.Cells {
		if c.Workload != "tcp_rr" {
			continue
		}
		if c.Verdict != "" && c.Mode != "control" {
			c.Verdict, c.BlocksNeeded = result.CannotTell, nil
		}
		if c.Mode == "control" {
			c.Verdict, c.Ratio, c.RatioCI = result.Worse, new(0.93), &result.Interval{0.9, 0.96}
		}
		cells = append(cells, c)
	}
	in.Run.Cells, in.Run.Warnings = cells, nil
	for i := range in.Run.Comparisons {
		in.Run.Comparisons[i].Verdict, in.Run.Comparisons[i].BlocksNeeded = result.CannotTell, nil
	}
	in.Trials = nil
	return in
}

// Ranking is a run of two baselines with more than two modes each: two that are tied, one
// that is tied with neither or both, one with too few values.
func Ranking() model.Input {
	level := map[string][]float64{ // goodput in Gbit/s and transactions in 1000/s of each mode
		"host": {23.4, 41}, "netns/macvlan": {23.1, 40}, "netns/ipvlan": {23.0, 40.1}, "netns/published": {16.2, 31}, "netns/vxlan": {15.2, 25}, "netns/bridge": {14.1, 25},
		"host-local": {38, 53}, "netns/colocated": {33, 50}, "docker/colocated": {33.1, 47}, "docker/to-host": {29, 47.2},
	}
	run := result.Run{Schema: result.Schema, ID: "0ddba11", Status: result.RunComplete, Profile: "standard", Tare: result.Build{Version: "test"}}
	for _, m := range [][2]string{
		{"host", ""}, {"netns/published", "host"}, {"netns/bridge", "host"}, {"netns/macvlan", "host"}, {"netns/ipvlan", "host"}, {"netns/vxlan", "host"},
		{"host-local", ""}, {"netns/colocated", "host-local"}, {"docker/colocated", "host-local"}, {"docker/to-host", "host-local"},
	} {
		run.Modes = append(run.Modes, result.Mode{ID: m[0], Title: m[0], Baseline: m[1], Status: result.ModeMeasured})
	}
	noise := []float64{0.004, -0.011, 0.009, -0.003, 0.012, -0.008, 0.002, -0.010, 0.007, 0.013, -0.005, 0.001, -0.012}
	var trials []result.Trial
	for block := 1; block <= 6; block++ {
		for i, m := range run.Modes {
			if m.ID == "netns/ipvlan" && block > 2 {
				continue
			}
			for w, workload := range []string{"tcp_stream", "tcp_rr"} {
				own := 1 + noise[(block*7+i*5+w*3)%len(noise)]
				if m.ID == "netns/vxlan" && workload == "tcp_stream" { // it wavers
					own = 1 + 10*noise[(block*7+i*5)%len(noise)]
				}
				metrics := map[string]float64{"goodput": level[m.ID][0] * 1e9 * own, "retransmits": 0}
				if workload == "tcp_rr" {
					metrics = map[string]float64{"transaction_rate": level[m.ID][1] * 1e3 * own, "rtt_p50": 1 / (level[m.ID][1] * 1e3 * own)}
				}
				trials = append(trials, result.Trial{Schema: result.TrialSchema, Seq: len(trials) + 1, Block: block, Mode: m.ID, Workload: workload, Attempt: 1, Status: result.TrialOK, Metrics: metrics})
			}
		}
	}
	run = analysis.EvaluateNumbers(run, verdict.Input{Modes: run.Modes, Workloads: []string{"tcp_stream", "tcp_rr"}, Serial: []string{"tcp_rr"}, Trials: trials, Rule: verdict.Rule{Margin: 0.05}})
	run.Metrics = nil
	return model.Input{Run: run, Trials: trials, Title: "Which of these networks can be told apart?"}
}

// twoTools is a run over UDP that its generator limited, and that a second tool
// verified.
func twoTools() model.Input {
	modes := sampleModes()[:2]
	base, other := modes[0].ID, modes[1].ID
	cell := func(mode, metric, unit string, better result.Direction, value float64) result.Cell {
		c := result.Cell{Mode: mode, Workload: "udp_stream", Metric: metric, Unit: unit, Better: better, N: 4, Value: new(value)}
		if mode == other {
			c.Baseline, c.Verdict, c.Margin = base, result.CannotTell, 0.1
		}
		return c
	}
	in := model.Input{Run: result.Run{Schema: result.Schema, ID: "0badcafe", Status: result.RunComplete, Profile: "standard", Seed: 7, Modes: modes, Trials: result.Tally{OK: 8}}}
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
