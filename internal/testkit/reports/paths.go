package reports

import (
	"math"
	"strings"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/warning"
)

// Sdn is a run as of study B: scenarios with names, two of which the machine lacks,
// comparisons between them, engines and limits.
func Sdn() model.Input {
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
	rule := verdict.Rule{Margin: 0.05}
	workloads := []string{"tcp_stream", "unsegmented", "tcp_rr"}
	run.Trials = result.Count(trials)
	run.Cells, run.Warnings = verdict.Cells(run.Modes, workloads, trials, rule)
	run.Warnings = append(run.Warnings, result.Warning{Code: string(warning.WorkloadLeftOut), Scope: "udp_sweep", Text: "left out of the trials, not built yet: loss over a range of rates"})
	run.Comparisons = verdict.Comparisons(verdict.Input{Modes: run.Modes, Workloads: workloads, Trials: trials, Rule: rule}, run.Scenarios, []verdict.ComparisonRequest{
		{ID: "D/B", Title: "what the SDN takes from containers", A: []string{"D"}, B: []string{"B"}},
		{ID: "F/E", Title: "the same without segmentation", A: []string{"F"}, B: []string{"E"}},
		{ID: "E/B", A: []string{"E"}, B: []string{"B"}},
		{ID: "G/D", Title: "what encryption takes", A: []string{"G"}, B: []string{"D"}},
		{ID: "bridge", Title: "the bridge beside the host", A: []string{"docker/bridge"}, B: []string{"host"}},
	})
	return model.Input{Run: run, Trials: trials, Title: "What an SDN costs containers", Command: "tare run sdn --seed 7"}
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

// Finding is one of a proof. A most of 0 means no bound, except for a counter that must not move.
func Finding(counter, expect string, moved, least, most uint64) result.Finding {
	f := result.Finding{Counter: counter, Expect: expect, Moved: &moved, Least: least}
	if most > 0 || expect == "still" || expect == "unmet" || expect == "idles" {
		f.Most = &most
	}
	return f
}

// counting gives a node of a chain its counters.
func counting(t *result.Topology, label, host string, counters ...string) {
	for i, n := range t.Nodes {
		if n.Label == label && n.Host == host {
			t.Nodes[i].Counters = counters
		}
	}
}

// Proven is a run with the proofs of its modes: one on two hosts that holds, one that
// does not, one within a host, one that an older program measured and one that nobody
// could build.
func Proven() model.Input {
	bridge := publishedTopology()
	bridge.Beside = []result.Node{
		{ID: "x", Kind: "loopback", Host: "b", Label: "lo", Counters: []string{"b/lo.tx_bytes", "b/lo.rx_bytes"}},
		{ID: "y", Kind: "process", Host: "b", Label: "docker-proxy:5201", Counters: []string{"b/docker-proxy:5201.run_ns"}},
	}
	counting(bridge, "client's veth", "a", "a/client.veth.tx_bytes", "a/client.veth.rx_bytes")
	counting(bridge, "masquerade", "a", "a/docker0.masquerade.packets")
	counting(bridge, "eth0", "b", "b/eth0.tx_bytes", "b/eth0.rx_bytes")
	counting(bridge, "DNAT to 198.18.2.2:5201", "b", "b/dnat:5201.packets", "b/tare.forward_in_bytes")
	overlay := overlayTopology()
	counting(overlay, "br0", "a", "a/overlay/br0.tx_bytes", "a/overlay/br0.rx_bytes")
	counting(overlay, "vxlan0", "a", "a/overlay/vxlan0.tx_bytes", "a/overlay/vxlan0.rx_bytes")
	within := chain(
		result.Node{Kind: "process", Host: "a", Label: "process"},
		result.Node{Kind: "loopback", Host: "a", Label: "lo", Counters: []string{"a/lo.tx_bytes"}},
		result.Node{Kind: "process", Host: "a", Label: "docker-proxy", Counters: []string{"a/docker-proxy:5201.run_ns"}},
		result.Node{Kind: "bridge", Host: "a", Label: "docker0", Facts: []result.Fact{{Name: "mtu", Value: "1500"}}},
		result.Node{Kind: "veth", Host: "a", Sandbox: "server", Label: "eth0"},
		result.Node{Kind: "process", Host: "a", Sandbox: "server", Label: "process"},
	)
	return model.Input{
		Title: "What was proven",
		Run: result.Run{
			ID: "9a0f", Status: result.RunComplete, Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 3, 9, 1, 0, 0, time.UTC), Trials: result.Tally{OK: 3, Failed: 1},
			Modes: []result.Mode{
				{ID: "host", Title: "An older program's", Status: result.ModeMeasured, Topology: sampleTopology("veth0", "veth1")},
				{ID: "docker/bridge", Title: "Proven", Status: result.ModeMeasured, Baseline: "host", Topology: bridge, Proof: &result.Proof{Trial: 2, Workload: "tcp_stream", Holds: true, Findings: []result.Finding{
					Finding("a/client.veth.tx_bytes", "reverse", 54302310, 42783626, 202783626), Finding("a/client.veth.rx_bytes", "forward", 53922275428, 53905002036, 54505002036),
					Finding("a/docker0.masquerade.packets", "connections", 151, 151, 0),
					Finding("b/eth0.tx_bytes", "reverse at least", 54302270, 0, 0), Finding("b/eth0.rx_bytes", "forward at least", 53922275378, 53905002036, 0),
					Finding("b/dnat:5201.packets", "connections", 151, 151, 0), Finding("b/tare.forward_in_bytes", "forward", 53905002036, 53905002036, 54505002036),
					Finding("b/lo.tx_bytes", "still", 28, 0, 16384), Finding("b/lo.rx_bytes", "still", 0, 0, 16384), Finding("b/docker-proxy:5201.run_ns", "idles", 41000, 0, 5000000),
				}}},
				{ID: "docker/overlay", Title: "Not proven", Status: result.ModeVoid, Reason: "the path of docker/overlay is not proven: counter a/overlay/vxlan0.tx_bytes moved by 900", Baseline: "host", Topology: overlay,
					Proof: &result.Proof{Trial: 3, Workload: "tcp_stream", Findings: []result.Finding{
						Finding("a/overlay/br0.tx_bytes", "still", 164, 0, 16384), Finding("a/overlay/br0.rx_bytes", "still", 220, 0, 16384),
						Finding("a/overlay/vxlan0.tx_bytes", "forward", 900, 104857600, 118425184), {Counter: "a/overlay/vxlan0.rx_bytes", Expect: "reverse", Least: 1},
					}}},
				{ID: "docker/userland-proxy", Title: "Within a host", Status: result.ModeMeasured, Topology: within, Proof: &result.Proof{Trial: 4, Workload: "udp_search", Holds: true, Findings: []result.Finding{
					Finding("a/lo.tx_bytes", "both at least", 53922275378, 53905002036, 0), Finding("a/docker-proxy:5201.run_ns", "works", 812000000, 100000, 0),
				}}},
				{ID: "netns/ipvlan", Title: "Not to be had", Status: result.ModeUnsupported, Reason: "the kernel has no ipvlan", Baseline: "host"},
			},
		},
		Trials: []result.Trial{
			{Seq: 1, Block: 1, Mode: "host", Workload: "tcp_stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 4e9},
				Counters: map[string]uint64{"a/veth0.tx_bytes": 4e9, "a/veth0.rx_bytes": 7e6, "a/lo.tx_bytes": 0, "b/veth1.carrier_changes": 1, "b/veth1.rx_bytes": 4e9}},
			{Seq: 2, Block: 1, Mode: "docker/bridge", Workload: "tcp_stream", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 2e9}},
			{Seq: 3, Block: 1, Mode: "docker/overlay", Workload: "tcp_stream", Status: result.TrialFailed, Reason: "the path of docker/overlay is not proven"},
		},
	}
}
