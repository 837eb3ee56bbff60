package reports

import (
	"math"
	"time"

	"tare/internal/analysis"
	"tare/internal/analysis/verdict"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/study"
)

// Claimed is a run that published claims are held against: one of each outcome, a curve, an order, a
// value with a unit, one that cannot be checked, and one about a mode that was not measured.
func Claimed() model.Input {
	in := Sample()
	in.ClaimsCommand = "tare report --claims tare-runs/x"
	source := "Smith and others (2016), c4.xlarge instances, iperf3"
	in.Run.Modes = append(in.Run.Modes, result.Mode{ID: "docker/overlay", Status: result.ModeUnsupported, Reason: "no engine", Baseline: "host"})
	in.Run.Scenarios = append(in.Run.Scenarios, result.Scenario{ID: "swarm", Mode: "docker/overlay", Workload: "tcp_stream"})
	in.Run.Claims = []result.Claim{
		{ID: "tcp-same", Claim: "Published ports cost TCP nothing where the link limits", Source: source, Of: []string{"netns/published", "host"}, Metric: "goodput", HoldsIf: "same",
			Published: "0.992 (0.97-1.01)", PublishedValue: new(0.992), PublishedCI: &result.Interval{0.97, 1.01},
			Outcome: result.ClaimHolds, Reason: "the ratio is within 5 % of 1", Value: new(0.998), CI: &result.Interval{0.991, 1.005}, N: 4},
		{ID: "vxlan-half", Claim: "VXLAN halves TCP goodput", Source: source, Of: []string{"netns/vxlan", "host"}, Metric: "goodput", HoldsIf: "between 0.4 and 0.7",
			Published: "0.54", PublishedValue: new(0.54), Outcome: result.ClaimDoesNotHold, Reason: "0.81 to 0.88 is above 0.7", Value: new(0.84), CI: &result.Interval{0.81, 0.88}, N: 4,
			Differs: []string{"a kernel of 2016 without receive offload for VXLAN", "the lab has no link limit."}},
		{ID: "raw-udp", Claim: "Raw hosts lose nothing to 700 Mbit/s, then steeply more", Source: source, Of: []string{"host"}, Metric: "loss_ratio", Unit: "ratio", HoldsIf: "below 0.5% to 700Mbit/s and above 10% from 896Mbit/s",
			Published: "0 to 700 Mbit/s, 2 % at 768, 20 % at 896", Outcome: result.ClaimDoesNotHold, Reason: "no loss at 896 Mbit/s", N: 4, Points: []result.ClaimPoint{
				{Label: "700 Mbit/s", Value: new(0.0), CI: &result.Interval{0, 0}, Outcome: result.ClaimHolds},
				{Label: "896 Mbit/s", Value: new(0.001), CI: &result.Interval{0, 0.003}, Outcome: result.ClaimDoesNotHold}}},
		{ID: "order", Claim: "Raw, then published ports, then VXLAN", Of: []string{"host", "netns/published", "netns/vxlan"}, Metric: "transaction_rate", HoldsIf: "order",
			Outcome: result.ClaimCannotTell, Reason: "host and netns/published cannot be told apart; about 12 more blocks", N: 4, Points: []result.ClaimPoint{
				{Label: "host before netns/published", Value: new(1.02), CI: &result.Interval{0.97, 1.07}, Outcome: result.ClaimCannotTell},
				{Label: "netns/published before netns/vxlan", Value: new(1.3), CI: &result.Interval{1.2, 1.4}, Outcome: result.ClaimHolds}}},
		{ID: "rate", Claim: "A raw host answers 40000 requests a second", Of: []string{"host"}, Metric: "transaction_rate", Unit: "1/s", HoldsIf: "above 40000",
			PublishedValue: new(40000.0), Outcome: result.ClaimHolds, Reason: "58 to 62 k/s is above 40 k/s", Value: new(60e3), CI: &result.Interval{58e3, 62e3}, N: 4},
		{ID: "windows", Claim: "Windows containers lose 30 % of UDP", Source: source, Outcome: result.ClaimCannotTell, Reason: "needs Windows hosts with HNS"},
		{ID: "swarm", Claim: "Swarm's overlay loses almost 45 %", Source: source, Of: []string{"swarm", "host"}, Metric: "goodput", Outcome: result.ClaimHolds, Reason: "made up", Value: new(0.777), CI: &result.Interval{0.776, 0.778}},
	}
	return in
}

// Priced is a standard run with all the evidence: CPU bills, a fixed-rate pass with
// its breakdown, losses by place, and what held TCP back.
func Priced() model.Input {
	run := result.Run{
		Schema: result.Schema, ID: "9f1ced00", Started: time.Date(2026, 8, 4, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 4, 9, 12, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.4.0"}, Seed: 12, Profile: "standard",
		Sensitivity: []result.Sensitivity{{Mode: "docker/userland-proxy", Baseline: "host", Workload: "tcp_stream", Metric: "goodput", Low: 0.58, High: 0.75, Settings: []result.SensitivityPoint{
			{Setting: "writes of 128KiB, buffers of 1MiB, one core", Ratio: 0.68, CI: &result.Interval{0.675, 0.691}, Blocks: 7},
			{Setting: "buffers of 256KiB", Ratio: 0.58, CI: &result.Interval{0.568, 0.601}, Blocks: 4}, {Setting: "two cores", Ratio: 0.75, Blocks: 1},
		}}},
		CostPass: &result.CostPass{Asked: "auto", Kind: "tcp_stream", Rate: 4.2e9, Of: "docker/userland-proxy", Workload: "tcp_stream", Block: 1},
	}
	level := []struct {
		mode, title           string
		goodput, rate         float64
		cost, rr, atRate, udp float64 // ms/Gbit, ms/1000 transactions, ms/Gbit at the fixed rate, loss
	}{
		{"host", "The host's own stack, over the underlay", 21.4e9, 40.1e3, 88, 31, 92, 0},
		{"netns/bridge", "A container on each host's bridge", 20.6e9, 38.7e3, 93, 33, 99, 0},
		{"netns/vxlan", "VXLAN overlay between hosts", 14.2e9, 30.2e3, 139, 47, 176, 0.013},
		{"docker/userland-proxy", "Published port through docker-proxy", 8.44e9, 14.9e3, 236, 104, 248, 0.087},
	}
	var trials []result.Trial
	add := func(t result.Trial) {
		t.Schema, t.Seq, t.Attempt, t.Started, t.Status = result.TrialSchema, len(trials)+1, 1, run.Started, result.TrialOK
		t.Machine = map[string]float64{"cpu_time": 5}
		if t.Mode == "docker/userland-proxy" {
			t.Processes = []result.ProcessCPU{{Name: "dockerd", CPU: 0.012}, {Name: "docker-proxy", CPU: 4.65}}
		}
		trials = append(trials, t)
	}
	for block := 1; block <= 7; block++ {
		for i, l := range level {
			wave := 1 + 0.008*math.Sin(float64(7*block+3*i))
			busy := l.goodput / 1e9 * l.cost / 1e3
			add(result.Trial{Block: block, Mode: l.mode, Workload: "tcp_stream", Metrics: map[string]float64{
				"goodput": l.goodput * wave, "retransmits": float64(20 + (block*7+i*3)%11), "cpu_cost": l.cost / wave / 1e3, "cpu_machine": busy}})
			add(result.Trial{Block: block, Mode: l.mode, Workload: "tcp_rr", Metrics: map[string]float64{
				"transaction_rate": l.rate * wave, "cpu_cost_transactions": l.rr / wave / 1e3, "cpu_machine": l.rate / 1e3 * l.rr / 1e3}})
			add(result.Trial{Block: block, Mode: l.mode, Workload: "udp_stream", Metrics: map[string]float64{"goodput": 9e8 * (1 - l.udp), "loss_ratio": l.udp * wave}})
			if block > 1 && block < 6 {
				add(result.Trial{Block: block, Mode: l.mode, Workload: "cost_pass", Metrics: map[string]float64{
					"goodput": 4.2e9, "cpu_cost": l.atRate * wave / 1e3, "cpu_machine": 4.2 * l.atRate * wave / 1e3}})
			}
		}
	}
	for i, l := range level {
		m := result.Mode{ID: l.mode, Title: l.title, Status: result.ModeMeasured}
		if i > 0 {
			m.Baseline = "host"
		}
		run.Modes = append(run.Modes, m)
		run.Breakdowns = append(run.Breakdowns, priceBreakdown(l.mode, i, l.atRate))
	}
	run.Losses = []result.LossSummary{
		{Mode: "host", Workload: "udp_stream", Trials: 7, Sent: 2712400},
		{Mode: "netns/bridge", Workload: "udp_stream", Trials: 7, Sent: 2712412},
		{Mode: "netns/vxlan", Workload: "udp_stream", Trials: 7, Sent: 2712390, Lost: 35261, Unexplained: 12,
			Places: []result.LossPlace{
				{Place: result.PlaceBacklog, Where: "machine", Counter: "softnet dropped", Count: 1204},
				{Place: result.PlaceReceive, Where: "b/server", Counter: "Udp RcvbufErrors", Count: 34045},
			},
			Reasons: []result.DropReason{{Reason: "SOCKET_RCVBUFF", Location: "__udp_enqueue_schedule_skb", Count: 34045}, {Reason: "CPU_BACKLOG", Location: "enqueue_to_backlog", Count: 1204}}},
		{Mode: "docker/userland-proxy", Workload: "udp_stream", Trials: 7, Sent: 2712399, Lost: 235979, Unexplained: -31,
			Places:  []result.LossPlace{{Place: result.PlaceProxy, Where: "b", Counter: "drops of /proc/net/udp", Count: 236010}},
			Missing: []string{"the kernel's own reasons: BPF is not permitted here"}},
	}
	tcp := func(mode, workload string, app, window, buffer, network float64, by map[string]int64) {
		run.TCPLimits = append(run.TCPLimits, result.TCPLimits{Mode: mode, Workload: workload, Sender: "client", Trials: 7,
			Application: &app, ReceiveWindow: &window, SendBuffer: &buffer, Network: &network, Retransmits: by})
	}
	tcp("host", "tcp_stream", 0.02, 0.71, 0, 0.27, map[string]int64{})
	tcp("netns/bridge", "tcp_stream", 0.03, 0.66, 0.003, 0.307, map[string]int64{})
	tcp("netns/vxlan", "tcp_stream", 0.11, 0.22, 0.05, 0.62, map[string]int64{result.RetransmitFast: 151, result.RetransmitProbe: 12, result.RetransmitTimeout: 1})
	tcp("docker/userland-proxy", "tcp_stream", 0.01, 0.94, 0, 0.05, nil)
	for _, l := range level {
		tcp(l.mode, "tcp_rr", 0.52, 0, 0, 0.48, nil)
	}
	in := verdict.Input{Modes: run.Modes, Workloads: []string{"tcp_stream", "tcp_rr", "udp_stream", "cost_pass"}, Serial: []string{"tcp_rr"}, Trials: trials, Rule: verdict.Rule{Margin: 0.05}}
	run.Cells, run.Warnings = verdict.Judge(in)
	run.Trials = result.Count(trials)
	return model.Input{Run: run, Trials: trials, Title: "What it costs", Command: "tare run --profile standard --seed 12"}
}

// priceBreakdown splits so many ms/Gbit as the i-th mode would spend them.
func priceBreakdown(mode string, i int, total float64) result.Breakdown {
	parts := []struct {
		name string
		of   [4]float64 // parts of the whole, by mode
	}{
		{"generator", [4]float64{2, 2, 2, 2}}, {"userspace proxy", [4]float64{0, 0, 0, 18}}, {"syscall entry", [4]float64{7, 7, 7, 21}},
		{"copy", [4]float64{38, 38, 39, 84}}, {"memory", [4]float64{11, 11, 14, 24}}, {"TCP/UDP", [4]float64{15, 15, 22, 33}}, {"IP", [4]float64{4, 4.5, 9, 9}},
		{"netfilter", [4]float64{0, 1.5, 3, 11}}, {"VXLAN", [4]float64{0, 0, 24, 0}}, {"bridge", [4]float64{0, 3, 6, 4}}, {"checksum", [4]float64{0, 0, 13, 0}},
		{"veth", [4]float64{4, 6, 9, 9}}, {"softirq and device core", [4]float64{5, 6, 12, 13}}, {"scheduler", [4]float64{4, 4, 8, 14}}, {"other programs", [4]float64{3, 1, 1, 1}},
		{result.Unclassified, [4]float64{1.5, 1.6, 4, 3}},
	}
	b := result.Breakdown{Mode: mode, Workload: "cost_pass", Trials: 4, Samples: 6000 + 2500*i, Unit: "s/Gbit", CPUs: new(4.2 * total / 1e3), Cost: new(total / 1e3), File: "stacks/x.cost_pass.folded"}
	sum := 0.0
	for _, p := range parts {
		sum += p.of[i]
	}
	for _, p := range parts {
		share := p.of[i] / sum
		cost := share * total / 1e3
		b.Components = append(b.Components, result.Component{Name: p.name, Share: share, Cost: &cost, CI: &result.Interval{cost * 0.97, cost * 1.03}})
		if result.Beside(p.name) {
			c := &b.Components[len(b.Components)-1]
			c.Cost, c.CI = nil, nil
		}
		if p.name == result.Unclassified {
			b.Unknown = share
		}
	}
	return b
}

// AtTheLimit is a run over a link of 1 Gbit/s that every mode fills, on two machines
// and without the right to sample.
func AtTheLimit() model.Input {
	in := Priced()
	in.Run.ID, in.Title = "1e60b175", "At the limit of the link"
	in.Run.LinkLimited = []result.LinkLimited{{Workload: "tcp_stream", Link: 1e9, Payload: 9.49e8, Least: 0.996}}
	in.Run.CostPass = &result.CostPass{Asked: "auto", Missing: "block 1 has no good trial of netns/vxlan"}
	in.Run.Losses, in.Run.TCPLimits = nil, in.Run.TCPLimits[:3]
	for i := range in.Run.TCPLimits {
		l := &in.Run.TCPLimits[i]
		l.Application, l.ReceiveWindow, l.SendBuffer, l.Network, l.Missing = nil, nil, nil, nil, []string{"iperf3 does not tell who limits TCP"}
	}
	for i := range in.Run.Breakdowns {
		b := &in.Run.Breakdowns[i]
		*b = result.Breakdown{Mode: b.Mode, Workload: "tcp_stream", Missing: "perf_event_open: operation not permitted; needs root, CAP_PERFMON or kernel.perf_event_paranoid 1"}
	}
	var trials []result.Trial
	for _, t := range in.Trials {
		if t.Workload != "tcp_stream" {
			continue
		}
		busy := t.Metrics["cpu_machine"]
		delete(t.Metrics, "cpu_machine")
		t.Metrics["goodput"] = 9.4e8 + float64(t.Seq*7%5)*3e6
		t.Metrics["cpu_sender"], t.Metrics["cpu_receiver"] = busy*0.4, busy*0.6
		t.Processes = nil
		trials = append(trials, t)
	}
	in.Trials = trials
	in.Run.Cells, in.Run.Warnings = verdict.Judge(verdict.Input{Modes: in.Run.Modes, Workloads: []string{"tcp_stream"}, Trials: trials, Rule: verdict.Rule{Margin: 0.05}})
	in.Run.Trials = result.Count(trials)
	return in
}

// Explained is a run that explains docker/published: one mode is void, one part costs nothing,
// one depends on the others, the engine has a rest, and one setting comes on top.
func Explained() model.Input {
	run := result.Run{
		Schema: result.Schema, ID: "e4b1a1ed", Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 3, 9, 5, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.3.0"}, Seed: 3, Profile: "quick",
	}
	costByParts := study.CostByParts{Of: "docker/published",
		Modes: []study.PartMode{{Mode: "host"}, {Mode: "upto-namespace", Part: "namespace", Title: "a network namespace and a veth"},
			{Mode: "upto-bridge", Part: "bridge", Title: "the bridge", Avoid: "use a network without a bridge"}, {Mode: "netns/published", Part: "dnat", Title: "the rule of the published port"},
			{Mode: "upto-engine", Part: "engine", Title: "what the engine adds and no part names", Rest: true},
			{Mode: "docker/published", Part: "seccomp", Title: "the container's seccomp profile"},
			{Mode: "and-bridge_nf", Part: "bridge_nf", Title: "bridged packets pass iptables", Avoid: "turn it off", Beyond: true}},
		Removals: []study.PartMode{{Mode: "no-dnat", Part: "dnat", Title: "the rule of the published port"}, {Mode: "upto-engine", Part: "seccomp", Title: "the container's seccomp profile"}}}
	micros := map[string]float64{"host": 10, "upto-namespace": 12, "netns/published": 15, "upto-engine": 15.4, "docker/published": 15.4, "and-bridge_nf": 17, "no-dnat": 15.2}
	var trials []result.Trial
	for _, id := range []string{"host", "upto-namespace", "upto-bridge", "netns/published", "upto-engine", "docker/published", "and-bridge_nf", "no-dnat"} {
		m := result.Mode{ID: id, Title: "a variant", Status: result.ModeMeasured, Baseline: "host"}
		switch id {
		case "host":
			m.Baseline, m.Title = "", "process on a to process on b"
		case "upto-bridge":
			m.Status, m.Reason = result.ModeVoid, "the path is not proven"
		}
		run.Modes = append(run.Modes, m)
		if m.Status == result.ModeVoid {
			continue
		}
		for b := range 6 {
			time := 1e-6 * micros[id] * (1 + 0.004*math.Sin(float64(7*b)+micros[id]))
			trials = append(trials, result.Trial{Schema: result.TrialSchema, Seq: len(trials) + 1, Block: b + 1, Attempt: 1, Mode: id, Workload: "tcp_rr", Status: result.TrialOK,
				Started: run.Started, Window: 1, Metrics: map[string]float64{"transaction_rate": 1 / time, result.CPUCostTransactions: 1000 * time}})
		}
	}
	s := study.Study{Margin: 0.03, Profile: study.Quick, Workloads: []study.Workload{{Kind: "tcp_rr"}}, CostByParts: &costByParts}
	run = analysis.Evaluate(run, analysis.Evidence{Study: s, Trials: trials, Lab: true})
	return model.Input{Run: run, Trials: trials, Title: "What the parts of docker/published cost", Page: "report.html", Full: "tare report --full DIR"}
}
