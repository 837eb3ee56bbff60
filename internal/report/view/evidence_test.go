package view

import (
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// priced is a standard run with all the evidence: CPU bills, a fixed-rate pass with
// its breakdown, losses by place, and what held TCP back.
func priced() Input {
	run := result.Run{
		Schema: result.Schema, ID: "9f1ced00", Started: time.Date(2026, 8, 4, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 4, 9, 12, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.4.0"}, Seed: 12, Profile: "standard",
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
	in := analysis.Input{Modes: run.Modes, Workloads: []string{"tcp_stream", "tcp_rr", "udp_stream", "cost_pass"}, Serial: []string{"tcp_rr"}, Trials: trials, Rule: analysis.Rule{Margin: 0.05}}
	run.Cells, run.Warnings = analysis.Judge(in)
	run.Trials = result.Count(trials)
	return Input{Run: run, Trials: trials, Title: "What it costs", Command: "tare run --profile standard --seed 12", FiguresDir: "figures"}
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

// atTheLimit is a run over a link of 1 Gbit/s that every mode fills, on two machines
// and without the right to sample.
func atTheLimit() Input {
	in := priced()
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
	in.Run.Cells, in.Run.Warnings = analysis.Judge(analysis.Input{Modes: in.Run.Modes, Workloads: []string{"tcp_stream"}, Trials: trials, Rule: analysis.Rule{Margin: 0.05}})
	in.Run.Trials = result.Count(trials)
	return in
}

func TestPrice(t *testing.T) {
	cost, _ := result.MetricNamed("cpu_cost_transactions")
	cell := func(v result.Verdict, ratio float64) result.Cell {
		return result.Cell{Baseline: "host", Verdict: v, Ratio: &ratio, RatioCI: &result.Interval{ratio - 0.02, ratio + 0.02}, Margin: 0.05}
	}
	for want, c := range map[string]result.Cell{
		"costs 1.40 (1.38-1.42) times host's CPU per 1000 transactions":                                cell(result.Worse, 1.4),
		"costs 0.70 (0.68-0.72) of host's CPU per 1000 transactions":                                   cell(result.Better, 0.7),
		"costs the same CPU per 1000 transactions within 5 %":                                          cell(result.Same, 1),
		"costs 1.03 (1.01-1.05) times host's CPU per 1000 transactions, a difference of less than 5 %": cell(result.Small, 1.03),
		"cannot be told from host by CPU cost (between -1.0 % and +3 %)":                               cell(result.CannotTell, 1.01),
		"": {Baseline: "host", Verdict: result.CannotTell},
	} {
		s := sentence{}
		must.Equal(t, want, s.costText(table{Metric: cost}, c))
	}
}

// Without a price a breakdown is one of shares; a component that one mode lacks is
// there with 0, and small ones are summed up for the terminal without losing any.
func TestBreakdownInShares(t *testing.T) {
	run := result.Run{Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Baseline: "host", Status: result.ModeMeasured}}}
	part := func(name string, share float64) result.Component { return result.Component{Name: name, Share: share} }
	run.Breakdowns = []result.Breakdown{
		{Mode: "m", Workload: "w", Samples: 9, Components: []result.Component{part("copy", 0.5), part("VXLAN", 0.3), part("IP", 0.105), part("veth", 0.095)}},
		{Mode: "host", Workload: "w", Samples: 9, Components: []result.Component{part("copy", 0.8), part("IP", 0.1), part("veth", 0.1)}},
	}
	v := newView(Input{Run: run})
	b := breakdownsOf(v)[0]
	var got []string
	for _, r := range b.short() {
		line := r.Name
		for _, c := range r.Cells {
			line += strings.TrimRight(" "+b.number(c.Value)+" "+b.diff(c), " ")
		}
		got = append(got, line)
	}
	want := []string{"copy 80.0 50.0 -30.0", "VXLAN 0.0 30.0 +30.0", "2 others 20.0 20.0 0.0", "all 100.0 100.0 0.0"}
	must.Equal(t, want, got)
	must.Equal(t, []string{"% of the mode's samples", "host"}, []string{b.Unit, b.Modes[0].Mode})
}

func TestLossWords(t *testing.T) {
	for want, r := range map[string]lossRow{
		"nothing lost in 1 trial":                                                          {Trials: 1},
		"10 lost in 2 trials: bridge (a) 90 %; unexplained 10 %":                           {Trials: 2, Lost: 10, Unexplained: 1, Places: []lossPlace{{Title: "bridge", Where: "a", Counter: "x", Count: 5}, {Title: "bridge", Where: "a", Counter: "y", Count: 4}}},
		"1000 lost in 2 trials: qdisc > 99 %; firewall < 1 %; 2 more attributed than lost": {Trials: 2, Lost: 1000, Unexplained: -2, Places: []lossPlace{{Title: "qdisc", Count: 998}, {Title: "firewall", Count: 4}}},
		"0 lost in 2 trials: qdisc 3; 3 more attributed than lost":                         {Trials: 2, Unexplained: -3, Places: []lossPlace{{Title: "qdisc", Count: 3}}},
	} {
		must.Equal(t, want, r.words())
	}
}

func TestLimitsAlike(t *testing.T) {
	row := func(mode string, shares ...float64) limitRow {
		r := limitRow{Mode: mode}
		for i := range shares {
			r.Shares[i] = &shares[i]
		}
		return r
	}
	must.Equal(t, "all modes alike: application 50 to 52 %, receive window 0 %, send buffer 0 %, network 48 to 50 %", (limitTable{Rows: []limitRow{row("a", 0.5, 0, 0, 0.5), row("b", 0.52, 0, 0, 0.48)}}).alike())
	for _, rows := range [][]limitRow{{row("a", 0.5, 0, 0, 0.5), row("b", 0.4, 0.1, 0, 0.5)}, {row("a", 0.5, 0, 0, 0.5), row("b", 0.5)}, {row("a", 1, 0, 0, 0)}} {
		must.EqualFor(t, rows, "", (limitTable{Rows: rows}).alike())
	}
}

// A pass of which every trial was ruled out is told of as such.
func TestPassWithoutTrials(t *testing.T) {
	in := Input{Run: result.Run{CostPass: &result.CostPass{Rate: 1e9}, Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}}}}
	in.Trials = []result.Trial{{Block: 2, Mode: "host", Workload: "cost_pass", Status: result.TrialInvalid, Metrics: map[string]float64{"goodput": 1e9, "cpu_cost": 0.1}}}
	for form, text := range everything(in) {
		if !strings.HasSuffix(form, ".svg") && !strings.Contains(strings.Join(strings.Fields(text), " "), "No valid trial has a CPU cost") {
			t.Errorf("%s does not say that no trial of the pass counts", form)
		}
	}
}

// A full report with evidence stays small enough to be mailed.
func TestEvidenceStaysSmall(t *testing.T) {
	if n := len(HTML(priced())); n > 300_000 {
		t.Errorf("%d bytes", n)
	}
}
