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

// sdn is a run as of study B: scenarios with names, two of which the machine lacks,
// comparisons between them, engines and limits.
func sdn() Input {
	var engine []result.Fact
	for _, host := range []string{"a", "b"} {
		for _, f := range []string{"engine 20.10.24+dfsg1", "api 1.41", "containerd 1.6.20~ds1", "runc 1.1.5+ds1"} {
			name, value, _ := strings.Cut(f, " ")
			engine = append(engine, result.Fact{Name: host + " " + name, Value: value})
		}
	}
	limited := append(engine[:len(engine):len(engine)], result.Fact{Name: "client limit", Value: "0.5 CPUs, 64 MiB"}, result.Fact{Name: "server limit", Value: "0.5 CPUs, 64 MiB"})
	run := result.Run{
		Schema: result.Schema, ID: "5d50c0de", Started: time.Date(2026, 8, 2, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 2, 9, 4, 0, 0, time.UTC),
		Status: result.RunComplete, Tare: result.Build{Version: "0.2.0"}, Seed: 7, Profile: "standard",
		Hosts: []result.Host{{Name: "a", Facts: sampleFacts()}, {Name: "b", Facts: sampleFacts()}},
		Modes: []result.Mode{
			{ID: "host", Title: "The host's own stack, over the underlay", Status: result.ModeMeasured, Topology: sampleTopology("veth eth0", "veth eth0 of b")},
			{ID: "docker/bridge", Title: "Containers on the engine's bridge, published port", Baseline: "host", Status: result.ModeMeasured, Facts: engine, Topology: publishedTopology()},
			{ID: "docker/driver:contrail/vrouter-2016.4", Title: "Containers on a network of contrail/vrouter-2016.4", Description: "The SDN's own plugin, with its options left as they are.", Baseline: "host", Status: result.ModeMeasured, Facts: engine, Topology: overlayTopology()},
			{ID: "starved", Mode: "docker/driver:contrail/vrouter-2016.4", Title: "The SDN with half a CPU", Baseline: "host", Status: result.ModeMeasured, Facts: limited, Topology: overlayTopology()},
			{ID: "docker/overlay-encrypted", Title: "Containers on Swarm's encrypted overlay", Baseline: "host", Status: result.ModeUnsupported, Reason: "the kernel has no ESP (xfrm state: protocol not supported): build it with CONFIG_INET_ESP"},
		},
		Scenarios: []result.Scenario{
			{ID: "A", Title: "Raw stack", Description: "No container and no switch: what the machine can carry.", Mode: "host", Workload: "tcp_stream"},
			{ID: "B", Title: "Containers on two hosts", Mode: "docker/bridge", Workload: "tcp_stream"},
			{ID: "D", Title: "Containers on two hosts, through the SDN", Mode: "docker/driver:contrail/vrouter-2016.4", Workload: "tcp_stream"},
			{ID: "E", Title: "B, tuned so that nothing is segmented", Mode: "docker/bridge", Workload: "unsegmented"},
			{ID: "F", Title: "D, tuned so that nothing is segmented", Mode: "docker/driver:contrail/vrouter-2016.4", Workload: "unsegmented"},
			{ID: "D-half", Mode: "starved", Workload: "tcp_stream"},
			{ID: "G", Title: "Encrypted", Mode: "docker/overlay-encrypted", Workload: "tcp_stream"},
			{ID: "H", Title: "Transactions", Mode: "docker/bridge", Workload: "tcp_rr"},
			{ID: "I", Title: "Loss against rate", Mode: "docker/bridge", Workload: "udp_sweep"},
		},
	}
	level := map[string]float64{"host": 7375e6, "docker/bridge": 1592e6, "docker/driver:contrail/vrouter-2016.4": 658e6, "starved": 301e6}
	var trials []result.Trial
	add := func(block int, mode, workload string, metrics map[string]float64) {
		trials = append(trials, result.Trial{Schema: result.TrialSchema, Seq: len(trials) + 1, Block: block, Mode: mode, Workload: workload, Attempt: 1,
			Status: result.TrialOK, Started: run.Started, Metrics: metrics, Machine: map[string]float64{"cpu_user": 0.2, "cpu_system": 1.1, "cpu_irq": 0, "cpu_softirq": 0.3, "cpu_steal": 0, "cpu_idle": 2.4}})
	}
	for block := 1; block <= 6; block++ {
		for i, m := range run.Modes[:4] {
			v := level[m.ID] * (1 + 0.01*math.Sin(float64(3*block+i)))
			add(block, m.ID, "tcp_stream", map[string]float64{"goodput": v, "send_rate": 1.0005 * v, "retransmits": float64(20 + (block*7+i*3)%11)})
			if m.ID != "starved" && (block > 1 || m.ID != "docker/bridge") {
				add(block, m.ID, "unsegmented", map[string]float64{"goodput": v * 0.15 * (1 + 0.008*math.Sin(float64(5*block+2*i))), "send_rate": v * 0.151})
			}
			if i < 2 {
				add(block, m.ID, "tcp_rr", map[string]float64{"transaction_rate": 2e4 + v/1e6, "rtt_p50": 4e-5 + v/1e15*math.Sin(float64(block)), "rtt_p99": 9e-5 - v/4e14})
			}
		}
	}
	rule := analysis.Rule{Margin: 0.05}
	workloads := []string{"tcp_stream", "unsegmented", "tcp_rr"}
	run.Trials = result.Count(trials)
	run.Cells, run.Warnings = analysis.Cells(run.Modes, workloads, trials, rule)
	run.Warnings = append(run.Warnings, result.Warning{Code: "workload_unsupported", Scope: "udp_sweep", Text: "left out of the trials, not built yet: loss over a range of rates"})
	run.Comparisons = analysis.Compare(analysis.Input{Modes: run.Modes, Workloads: workloads, Trials: trials, Rule: rule}, run.Scenarios, []analysis.ComparisonRequest{
		{ID: "D/B", Title: "what the SDN takes from containers", A: []string{"D"}, B: []string{"B"}},
		{ID: "F/E", Title: "the same without segmentation", A: []string{"F"}, B: []string{"E"}},
		{ID: "E/B", A: []string{"E"}, B: []string{"B"}},
		{ID: "G/D", Title: "what encryption takes", A: []string{"G"}, B: []string{"D"}},
		{ID: "bridge", Title: "the bridge beside the host", A: []string{"docker/bridge"}, B: []string{"host"}},
	})
	return Input{Run: run, Trials: trials, Title: "What an SDN costs containers", Command: "tare run sdn --seed 7", FiguresDir: "figures"}
}

func chain(nodes ...result.Node) *result.Topology {
	t := &result.Topology{Nodes: nodes}
	for i := range nodes {
		nodes[i].ID = string(rune('a' + i))
		if i > 0 {
			t.Edges = append(t.Edges, result.Edge{From: nodes[i-1].ID, To: nodes[i].ID})
		}
	}
	return t
}

func publishedTopology() *result.Topology {
	mtu := []result.Fact{{Name: "mtu", Value: "1500"}, {Name: "qdisc", Value: "noqueue"}}
	return chain(
		result.Node{Kind: "process", Host: "a", Sandbox: "client", Label: "process"},
		result.Node{Kind: "veth", Host: "a", Sandbox: "client", Label: "eth0", Facts: mtu},
		result.Node{Kind: "veth", Host: "a", Label: "client's veth", Facts: mtu},
		result.Node{Kind: "bridge", Host: "a", Label: "docker0", Facts: append(mtu[:2:2], result.Fact{Name: "br_netfilter", Value: "on"})},
		result.Node{Kind: "nat", Host: "a", Label: "masquerade"},
		result.Node{Kind: "veth", Host: "a", Label: "eth0", Facts: mtu},
		result.Node{Kind: "veth", Host: "b", Label: "eth0", Facts: mtu},
		result.Node{Kind: "nat", Host: "b", Label: "DNAT to 198.18.2.2:5201"},
		result.Node{Kind: "bridge", Host: "b", Label: "docker0", Facts: mtu},
		result.Node{Kind: "veth", Host: "b", Sandbox: "server", Label: "eth0", Facts: mtu},
		result.Node{Kind: "process", Host: "b", Sandbox: "server", Label: "process"},
	)
}

func overlayTopology() *result.Topology {
	return chain(
		result.Node{Kind: "process", Host: "a", Sandbox: "client", Label: "process"},
		result.Node{Kind: "veth", Host: "a", Sandbox: "client", Label: "eth0"},
		result.Node{Kind: "bridge", Host: "a", Sandbox: "overlay", Label: "br0"},
		result.Node{Kind: "vxlan", Host: "a", Sandbox: "overlay", Label: "vxlan0", Facts: []result.Fact{{Name: "vni", Value: "4097"}}},
		result.Node{Kind: "veth", Host: "a", Label: "eth0"},
		result.Node{Kind: "veth", Host: "b", Label: "eth0"},
		result.Node{Kind: "vxlan", Host: "b", Sandbox: "overlay", Label: "vxlan0"},
		result.Node{Kind: "bridge", Host: "b", Sandbox: "overlay", Label: "br0"},
		result.Node{Kind: "veth", Host: "b", Sandbox: "server", Label: "eth0"},
		result.Node{Kind: "process", Host: "b", Sandbox: "server", Label: "process"},
	)
}

// A comparison shows no figure of a mode that was not measured, whatever a file
// says.
func TestComparisonOfUnmeasured(t *testing.T) {
	in := sdn()
	for i := range in.Run.Modes {
		if in.Run.Modes[i].ID == "docker/bridge" {
			in.Run.Modes[i].Status, in.Run.Modes[i].Reason = result.ModeVoid, "docker0 rested"
		}
	}
	for _, c := range newView(in).Comparisons {
		if len(c.Lines) > 0 && strings.Contains(c.Where, "docker/bridge") {
			t.Errorf("%s: %d figures of a mode that is void", c.ID, len(c.Lines))
		}
	}
}

func TestTogether(t *testing.T) {
	got := together([]result.Fact{{Name: "a engine", Value: "20"}, {Name: "a runc", Value: "1"}, {Name: "b engine", Value: "20"}, {Name: "b runc", Value: "2"}, {Name: "mtu", Value: "1500"}},
		[]result.Host{{Name: "a"}, {Name: "b"}})
	want := []result.Fact{{Name: "engine", Value: "20"}, {Name: "a runc", Value: "1"}, {Name: "b runc", Value: "2"}, {Name: "mtu", Value: "1500"}}
	must.Equal(t, want, got)
}

func TestLimits(t *testing.T) {
	for want, facts := range map[string][]result.Fact{
		"":                     {{Name: "a engine", Value: "20"}},
		"0.5 CPUs each":        {{Name: "client limit", Value: "0.5 CPUs"}, {Name: "server limit", Value: "0.5 CPUs"}},
		"server 64 MiB":        {{Name: "server limit", Value: "64 MiB"}},
		"client 1; server 0.5": {{Name: "client limit", Value: "1"}, {Name: "server limit", Value: "0.5"}},
	} {
		must.Equal(t, want, limitsText(result.Mode{Facts: facts}))
	}
}

func TestSeen(t *testing.T) {
	for want, ds := range map[string][]float64{
		"Smallest change this could show: 5 %.":                                    {0.05, 0.05},
		"Smallest change this could show: 5 % to > 1000 %, depending on the mode.": {7038, 0.05},
		"Smallest change this could show: 4.7 % to 1000 %, depending on the mode.": {0.047, 10},
		"": {math.Inf(1)},
	} {
		var tab table
		for _, d := range ds {
			tab.Groups = append(tab.Groups, group{Rows: []row{{Cell: &result.Cell{Detectable: &d}}}})
		}
		must.Equal(t, want, tab.seen())
	}
}

// A scenario whose trials all failed says so, and why.
func TestScenarioWithoutTrials(t *testing.T) {
	in := Input{Run: result.Run{
		Modes:     []result.Mode{{ID: "host", Status: result.ModeMeasured}},
		Scenarios: []result.Scenario{{ID: "A", Mode: "host", Workload: "tcp-50"}, {ID: "B", Mode: "host", Workload: "tcp_rr"}},
	}, Trials: []result.Trial{
		{Block: 1, Mode: "host", Workload: "tcp-50", Status: result.TrialFailed, Reason: "0 of 50 connections came"},
		{Block: 1, Mode: "host", Workload: "tcp-50", Status: result.TrialFailed, Reason: "1 of 50 connections came"},
	}}
	var got []string
	for _, r := range scenariosOf(newView(in))[0].Rows {
		got = append(got, r.verdict())
	}
	must.Equal(t, []string{"no valid trial, 2 failed: 1 of 50 connections came", "no trial"}, got)
}
