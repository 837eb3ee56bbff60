package reports

import (
	"math"
	"strings"

	"tare/internal/report/view/model"
	"tare/internal/result"
)

// HostileClaims are claims whose texts are out to break a report, and whose numbers are none.
func HostileClaims(evil, mode string) []result.Claim {
	return []result.Claim{
		{ID: evil, Claim: evil, Source: evil, Of: []string{mode}, Unit: evil, Metric: evil, Published: evil, Outcome: result.ClaimOutcome(evil), Reason: evil, Value: new(math.NaN()), CI: &result.Interval{math.Inf(-1), math.NaN()},
			Points: []result.ClaimPoint{{Label: evil, Value: new(math.Inf(1)), Outcome: result.ClaimOutcome(evil)}, {}}, Differs: []string{evil, ""}},
		{ID: evil, Claim: evil, PublishedValue: new(-1.0), Outcome: result.ClaimHolds, Value: new(1e300), CI: &result.Interval{-1e300, math.Inf(1)}},
		{ID: evil, Claim: strings.Repeat(evil, 30), PublishedValue: new(0.5), PublishedCI: &result.Interval{math.NaN(), 1}, Outcome: result.ClaimDoesNotHold, Value: new(2.0), CI: &result.Interval{-1, 3}},
		// A value of a mode that was not measured must not be shown.
		{ID: evil, Claim: evil, Of: []string{"long"}, Outcome: result.ClaimHolds, Value: new(7.77)},
		{},
	}
}

// Hostile is a small run whose strings are out to break a report.
func Hostile() model.Input {
	evil := "<script>alert(1)</script>|\x1b[31mred\x1b[0m\u202eevil\u2066\n# h1\r\n`x` **b** [a](javascript:x) &lt; ]]> --> \x00\x9b\u200f"
	value, ratio := 1e9, 0.5
	mode := "m/" + evil
	return model.Input{
		Title: evil, Description: evil + "\n\n" + evil, Command: "tare run '" + evil + "' ```",
		Run: result.Run{
			ID: evil, Status: result.RunComplete, Profile: evil, Noisy: evil,
			CostByParts: hostileCosts(evil, mode),
			Claims:      HostileClaims(evil, mode),
			Stopping:    &result.Stopping{Reason: result.StopReason(evil), Text: evil, Width: math.NaN(), Unsettled: []result.Unsettled{{Mode: evil, Workload: evil, Metric: evil, Width: new(math.Inf(1))}}},
			Pilots:      []result.Pilot{{Mode: evil, Workload: evil, Length: -1, Warmup: new(math.NaN())}, {Mode: evil, Reason: evil}},
			Lengths:     []result.Length{{Workload: evil, Reason: evil, Duration: math.Inf(1)}}, Tare: result.Build{Version: evil, Commit: evil},
			Hosts: []result.Host{{Name: evil, Facts: []result.Fact{{Name: evil, Value: evil}}}},
			Modes: []result.Mode{
				{ID: "base " + evil, Title: evil, Status: result.ModeMeasured},
				{ID: mode, Mode: evil, Title: evil, Description: evil, Facts: []result.Fact{{Name: evil, Value: evil}, {Name: "client limit", Value: evil}}, Status: result.ModeMeasured, Baseline: "base " + evil, Topology: &result.Topology{
					Nodes: []result.Node{{ID: evil, Kind: evil, Host: evil, Sandbox: evil, Label: evil, Facts: []result.Fact{{Name: evil, Value: evil}}, Counters: []string{evil}},
						{ID: "2", Host: evil, Label: strings.Repeat(evil, 20), Counters: []string{"a/" + evil + ".tx_bytes"}}},
					Edges:  []result.Edge{{From: evil, To: "2"}, {From: "2", To: evil}, {From: evil, To: "nowhere"}},
					Beside: []result.Node{{ID: evil, Kind: evil, Host: evil, Sandbox: evil, Label: evil, Counters: []string{evil}}, {Host: "elsewhere"}},
				}, Proof: &result.Proof{Trial: -1, Workload: evil, Findings: []result.Finding{{Counter: evil, Expect: evil, Least: 7}, {Counter: "a/" + evil + ".tx_bytes", Expect: "still", Moved: new(^uint64(0))}}}},
				{ID: "control " + evil, Baseline: "base " + evil, Control: true, Status: result.ModeMeasured},
				{ID: "long", Status: result.ModeFailed, Reason: strings.Repeat("very long "+evil, 100)},
				{ID: "odd", Status: "<b>odd</b>", Reason: strings.Repeat("x", 10000)},
			},
			Cells: []result.Cell{
				{Mode: "base " + evil, Workload: evil, Metric: evil, Unit: evil, Better: result.Higher, N: 3, Value: &value},
				{Mode: mode, Workload: evil, Metric: evil, Unit: evil, Better: result.Higher, N: 3, Value: &value, Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{0.4, 0.6}, Verdict: result.Verdict(evil)}},
				{Mode: mode, Workload: evil, Metric: "cpu_cost", Unit: evil, Better: result.Lower, N: 3, Value: &value, Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{0.4, 0.6}, Verdict: result.Better}},
				{Mode: "control " + evil, Workload: evil, Metric: evil, Unit: evil, Better: result.Higher, N: 3, Value: &value, Bands: &result.Bands{},
					Lossy: &result.Lossy{Lossy: 5, Trials: 3, Upper: math.NaN()}, Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{math.NaN(), 0.6}, Verdict: result.Worse}},
				// A value of a mode that was not measured must not be shown.
				{Mode: "long", Workload: evil, Metric: evil, Unit: evil, Better: result.Higher, N: 3, Value: new(777e9), Judgement: result.Judgement{Ratio: new(7.77), Verdict: result.Better}},
			},
			Scenarios: []result.Scenario{
				{ID: evil, Title: evil, Description: evil, Mode: mode, Workload: evil},
				{ID: "long", Mode: "long", Workload: evil},
				{Mode: "nowhere", Workload: "nothing"},
			},
			Comparisons: []result.Comparison{
				{ID: evil, Title: evil, A: result.Side{ID: evil, Mode: mode, Workload: evil, Value: &value}, B: result.Side{ID: "base " + evil, Mode: "base " + evil, Workload: evil}, Metric: evil,
					Unit: evil, Better: result.Higher, N: 3, Missing: 1, Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{0.4, 0.6}, Verdict: result.Verdict(evil)}},
				// A value of a mode that was not measured must not be shown.
				{A: result.Side{ID: "long", Mode: "long", Value: new(777e9)}, B: result.Side{ID: mode, Mode: mode}, Metric: evil, Judgement: result.Judgement{Ratio: new(7.77), Verdict: result.Better}},
				{ID: evil, A: result.Side{ID: evil, Of: []result.Side{{ID: evil, Mode: mode}, {ID: "long", Mode: "long", Value: new(777e9)}}}, B: result.Side{ID: evil}, Metric: evil, Judgement: result.Judgement{Ratio: new(7.77)}},
				{ID: evil, A: result.Side{ID: evil, Mode: mode}, B: result.Side{ID: evil}, Metric: evil, Judgement: result.Judgement{Ratio: &ratio, Verdict: result.Worse}, Expect: new(0.0)},
				{Title: evil, A: result.Side{ID: evil}, B: result.Side{ID: evil}, Reason: evil},
			},
			Warnings: []result.Warning{{Code: evil, Scope: evil, Text: evil}},
			CostPass: &result.CostPass{Asked: evil, Kind: evil, Of: evil, Workload: evil, Rate: math.Inf(1)}, LinkLimited: []result.LinkLimited{{Workload: evil, Link: math.NaN()}},
			OwnShares: []result.OwnShare{{Workload: evil, Baseline: evil, Seconds: math.NaN(), Share: 0.5, Modes: []result.OwnRatio{{Mode: mode, Ratio: math.Inf(1)}, {Mode: "long", Ratio: 777}}}, {Baseline: "long", Share: 777}, {Share: math.NaN()}},
			Sensitivity: []result.Sensitivity{
				{Mode: mode, Baseline: evil, Workload: evil, Metric: evil, Low: math.NaN(), High: math.Inf(1), Settings: []result.SensitivityPoint{{Setting: evil, Ratio: math.NaN(), CI: &result.Interval{math.Inf(-1), 2}, Blocks: 3}, {Setting: evil}}},
				{Mode: "long", Workload: evil, Low: 777, High: 777, Settings: make([]result.SensitivityPoint, 2)}, {Mode: mode},
			},
			Breakdowns: []result.Breakdown{
				{Mode: "base " + evil, Workload: evil, Samples: 5, Unit: evil, Unknown: math.NaN(), File: evil, Components: []result.Component{{Name: evil, Cost: new(1.0), CI: &result.Interval{math.NaN(), 2}}}},
				{Mode: mode, Workload: evil, Samples: 5, Unit: evil, Unknown: 7, Components: []result.Component{{Name: evil, Cost: new(1e300)}, {Name: evil + "2", Cost: new(-1.0)}}},
				{Mode: mode, Workload: "shares", Samples: 5, Components: []result.Component{{Name: evil, Share: math.Inf(1)}, {Name: evil, Share: math.NaN(), Cost: new(math.NaN())}}},
				{Mode: "control " + evil, Workload: evil, Missing: evil},
				{Mode: "long", Workload: evil, Samples: 777, Components: []result.Component{{Name: evil, Share: 1, Cost: new(777e9)}}},
			},
			Losses: []result.LossSummary{
				{Mode: mode, Workload: evil, Trials: 2, Lost: 5, Sent: -1, Unexplained: 3, Missing: []string{evil}, Reasons: []result.DropReason{{Reason: evil, Location: evil, Count: 2}},
					Places: []result.LossPlace{{Place: evil, Where: evil, Counter: evil, Count: 2}}},
				{Mode: "control " + evil, Workload: evil, Trials: 1, Lost: -5, Unexplained: -9, Places: []result.LossPlace{{Count: 4}}},
				{Mode: "long", Workload: evil, Trials: 7, Lost: 777},
			},
			Rankings: []result.Ranking{
				{Workload: evil, Metric: evil, Unit: evil, Better: result.Direction(evil), Baseline: "base " + evil, Pairs: -1,
					Modes:    []result.Ranked{{Mode: mode, Letters: strings.Repeat(evil, 5), Value: new(math.NaN())}, {Mode: "odd", Letters: "a"}, {Mode: "long", Letters: "777"}, {Letters: "a"}},
					Unranked: []result.Unranked{{Mode: evil, Reason: evil}, {}}},
				{Workload: evil, Metric: evil, Reason: evil},
				{},
			},
			TCPLimits: []result.TCPLimits{
				{Mode: mode, Workload: evil, Sender: evil, Application: new(math.NaN()), Network: new(9.0), Retransmits: map[string]int64{evil: 1}, Missing: []string{evil}},
				{Mode: mode, Workload: evil, Sender: evil + "2"},
				{Mode: "long", Workload: evil, Network: new(0.777)},
			},
		},
		Trials: []result.Trial{
			{Seq: 1, Block: 1, Mode: mode, Workload: evil, Status: result.TrialOK, Metrics: map[string]float64{evil: 1e9, "cpu_cost": 2}, Processes: []result.ProcessCPU{{Name: evil, CPU: math.NaN()}}},
			{Seq: 4, Block: 1, Mode: mode, Workload: evil, Status: result.TrialOK, Requeued: true, Steps: []result.Step{{Load: math.NaN(), LossRatio: math.Inf(1)}, {Load: -1, Duration: math.NaN()}},
				Search: &result.Search{Payload: 1, Goals: []result.SearchGoal{{Metric: evil, LossGoal: math.NaN(), ExceedRatio: math.Inf(1), Throughput: new(1.0), Lossy: 9, Trials: 1}}}},
			{Seq: 2, Block: 1, Mode: "long", Workload: evil, Status: result.TrialOK, Metrics: map[string]float64{evil: 777e9}},
			{Seq: 3, Block: 1, Mode: mode, Workload: evil, Status: result.TrialFailed, Reason: evil},
		},
	}
}

func hostileCosts(evil, mode string) *result.CostByParts {
	nan := &result.Amount{Value: math.NaN(), CI: &result.Interval{math.Inf(-1), math.Inf(1)}, N: -3}
	big := &result.Amount{Value: 1e308, CI: &result.Interval{-1e308, 1e308}}
	return &result.CostByParts{Mode: mode, Baseline: "base " + evil,
		Modes:    []result.PartMode{{Mode: evil, Part: evil, Title: evil, Reason: evil}, {}},
		Removals: []result.PartMode{{Mode: evil, Part: evil, Title: evil}},
		Costs: []result.PartCosts{{}, {Workload: evil, Metric: evil, Unit: evil, Baseline: big, Whole: nan},
			{Workload: evil, Metric: "transaction_rate", Unit: "s/transaction", Baseline: big, Whole: big,
				Steps: []result.PartCost{{}, {Parts: []string{evil, evil}, With: evil, Cost: nan, Share: new(math.NaN()), Verdict: result.Verdict(evil), Contradicts: evil},
					{Parts: []string{evil}, With: mode, Cost: big, Ratio: new(math.Inf(1)), Beyond: true}},
				Removals: []result.PartCost{{Parts: []string{evil}, Cost: big, Interaction: nan}, {Interaction: big}}}}}
}
