package view

import (
	"bytes"
	"math"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// settled is a standard run with all that the method adds: pilot trials, an A/A
// control, a mode in two bands, a rate search, a sweep, trials that were ruled out
// and run once more, comparisons of ratios and with an expectation.
func settled() Input {
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
	in := analysis.Input{Modes: run.Modes, Workloads: []string{"tcp_stream", "tcp_rr", "udp_sweep@200Mbit/s", "udp_sweep@500Mbit/s", "udp_sweep@1Gbit/s", "udp_search"}, Trials: trials, Rule: analysis.Rule{Margin: 0.05}}
	run.Cells, run.Warnings = analysis.Judge(in)
	for i := range run.Cells { // as of a run with more blocks, of which bands are claimed
		if c := &run.Cells[i]; c.Mode == "netns/bridge" && c.Workload == "tcp_stream" && c.Metric == "goodput" {
			c.Bands = &result.Bands{Low: result.Band{N: 3, Value: 12.1e9}, High: result.Band{N: 6, Value: 15.8e9}}
		}
	}
	run.Trials = result.Count(trials)
	run.Comparisons = analysis.Compare(in, run.Scenarios, []analysis.ComparisonRequest{
		{ID: "(d/c)/(b/a)", Title: "did it scale", A: []string{"d", "c"}, B: []string{"b", "a"}},
		{ID: "b/a", Title: "half is expected", A: []string{"b"}, B: []string{"a"}, Expect: 0.5},
		{ID: "as expected", A: []string{"d"}, B: []string{"c"}, Expect: 0.998},
		{ID: "of modes", A: []string{"netns/vxlan", "host"}, B: []string{"netns/bridge", "host"}},
	})
	return Input{Run: run, Trials: trials, Title: "A standard run", Command: "tare run --profile standard --seed 11", FiguresDir: "figures"}
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

// noisyRun is a short run of which too many trials were ruled out, and whose control is worse
// than what it is a copy of.
func noisyRun() Input {
	in := settled()
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

// A pilot trial is no trial of a cell: it is in no chart and in no count of blocks.
func TestPilotsAreNotDrawn(t *testing.T) {
	figures := New(settled()).Figures()
	if svg := figures["tcp_stream-goodput.svg"]; len(svg) == 0 || bytes.Contains(svg, []byte("block 0")) || bytes.Contains(svg, []byte("99.0 Gbit/s")) {
		t.Error("a pilot trial is drawn")
	}
	// Of the set that was run once more, the first outcomes are crosses.
	must.EqualFor(t, "trials whose set was run once more, drawn as ruled out", 3, bytes.Count(figures["tcp_rr-transaction_rate.svg"], []byte("run again, with all of its set")))
}

// A workload of which no trial gave a figure is told of all the same, and a mode
// without one in a table of others.
func TestWorkloadWithoutFigures(t *testing.T) {
	trial := result.Trial{Block: 1, Mode: "host", Workload: "udp_search", Status: result.TrialOK}
	in := Input{Run: result.Run{Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}}}, Trials: []result.Trial{trial}}
	for form, text := range everything(in) {
		must.ContainFor(t, form, text, "No value from 1 trial")
	}
}

// A row without a value says how many trials it has.
func TestVerdictWithoutValue(t *testing.T) {
	trial := result.Trial{Block: 1, Mode: "host", Workload: "udp_search", Status: result.TrialOK}
	r := row{Metric: "throughput_0", Trials: []*result.Trial{&trial}}
	must.Equal(t, "no value from 1 valid trial", r.verdict())
}

// Steps that the sender did not reach do not tell the path's loss.
func TestCurveLeavesOutLimitedSteps(t *testing.T) {
	var c curve
	c.points([]result.Step{
		{Load: 2000, Duration: 1, LossRatio: 0.5, Limited: true}, {Load: 1000, Duration: 1, LossRatio: 0.02},
		{Load: 1000, Duration: 0.5, LossRatio: 0.9, Limited: true}, {Load: 1000, Duration: 1},
	}, 8000)
	want := []curvePoint{
		{Load: "8.00", Steps: 3, Seconds: "2.5 s", Median: "1.00 %", Worst: "2.00 %", Lossy: 1, Limited: 1},
		{Load: "16.0", Steps: 1, Seconds: "1.0 s", Median: "-", Worst: "-", Limited: 1},
	}
	must.Equal(t, want, c.Points)
	must.Equal(t, "Mbit/s", c.Unit)
}
