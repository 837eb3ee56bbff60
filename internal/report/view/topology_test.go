package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// finding is one of a proof. A most of 0 means no bound, except for a counter that must not move.
func finding(counter, expect string, moved, least, most uint64) result.Finding {
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

// proven is a run with the proofs of its modes: one on two hosts that holds, one that
// does not, one within a host, one that an older program measured and one that nobody
// could build.
func proven() Input {
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
	return Input{
		Title: "What was proven", FiguresDir: "figures",
		Run: result.Run{
			ID: "9a0f", Status: result.RunComplete, Started: time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC), Finished: time.Date(2026, 8, 3, 9, 1, 0, 0, time.UTC), Trials: result.Tally{OK: 3, Failed: 1},
			Modes: []result.Mode{
				{ID: "host", Title: "An older program's", Status: result.ModeMeasured, Topology: sampleTopology("veth0", "veth1")},
				{ID: "docker/bridge", Title: "Proven", Status: result.ModeMeasured, Baseline: "host", Topology: bridge, Proof: &result.Proof{Trial: 2, Workload: "tcp_stream", Holds: true, Findings: []result.Finding{
					finding("a/client.veth.tx_bytes", "reverse", 54302310, 42783626, 202783626), finding("a/client.veth.rx_bytes", "forward", 53922275428, 53905002036, 54505002036),
					finding("a/docker0.masquerade.packets", "connections", 151, 151, 0),
					finding("b/eth0.tx_bytes", "reverse at least", 54302270, 0, 0), finding("b/eth0.rx_bytes", "forward at least", 53922275378, 53905002036, 0),
					finding("b/dnat:5201.packets", "connections", 151, 151, 0), finding("b/tare.forward_in_bytes", "forward", 53905002036, 53905002036, 54505002036),
					finding("b/lo.tx_bytes", "still", 28, 0, 16384), finding("b/lo.rx_bytes", "still", 0, 0, 16384), finding("b/docker-proxy:5201.run_ns", "idles", 41000, 0, 5000000),
				}}},
				{ID: "docker/overlay", Title: "Not proven", Status: result.ModeVoid, Reason: "the path of docker/overlay is not proven: counter a/overlay/vxlan0.tx_bytes moved by 900", Baseline: "host", Topology: overlay,
					Proof: &result.Proof{Trial: 3, Workload: "tcp_stream", Findings: []result.Finding{
						finding("a/overlay/br0.tx_bytes", "still", 164, 0, 16384), finding("a/overlay/br0.rx_bytes", "still", 220, 0, 16384),
						finding("a/overlay/vxlan0.tx_bytes", "forward", 900, 104857600, 118425184), {Counter: "a/overlay/vxlan0.rx_bytes", Expect: "reverse", Least: 1},
					}}},
				{ID: "docker/userland-proxy", Title: "Within a host", Status: result.ModeMeasured, Topology: within, Proof: &result.Proof{Trial: 4, Workload: "udp_search", Holds: true, Findings: []result.Finding{
					finding("a/lo.tx_bytes", "both at least", 53922275378, 53905002036, 0), finding("a/docker-proxy:5201.run_ns", "works", 812000000, 100000, 0),
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

// What a counter showed is drawn: proven, not proven, and of runs that do not say what it had to show.
func TestProofIsShown(t *testing.T) {
	all := everything(proven())
	for name, text := range all {
		if strings.HasPrefix(name, "path-") {
			golden(t, "proven-"+name, text)
		}
	}
	if _, drawn := all["path-netns_ipvlan.svg"]; drawn {
		t.Error("a path is drawn that was not built")
	}
}

func TestBriefly(t *testing.T) {
	for want, f := range map[string]result.Finding{
		"tx 1.50 of 1.40-1.60 GB": finding("a/eth0.tx_bytes", "forward", 15e8, 14e8, 16e8),
		"tx 900 B of ≥ 1.40 GB":   finding("a/eth0.tx_bytes", "forward at least", 900, 14e8, 0),
		"rx 12 B of ≤ 16.4 kB":    finding("a/eth0.rx_bytes", "still", 12, 0, 16384),
		"0 packets of none":       finding("b/dnat:5201.packets", "unmet", 0, 0, 0),
		"unlike 3 of none":        finding("b/connections.unlike", "unmet", 3, 0, 0),
		"ran 12.0 of ≥ 0.100 ms":  finding("b/docker-proxy:5201.run_ns", "works", 12e6, 1e5, 0),
		"in 5.00 of 5.00-5.10 kB": finding("b/tare.forward_in_bytes", "forward", 5000, 5000, 5100),
		"dnat 2 of ≥ 2 packets":   finding("b/tare.dnat_packets", "connections", 2, 2, 0),
		"tx 7 B":                  {Counter: "a/eth0.tx_bytes", Moved: new(uint64(7))},
		"tx not read":             {Counter: "a/eth0.tx_bytes", Expect: "forward", Least: 9},
		"18446744073709551615":    {Counter: "odd", Moved: new(^uint64(0))},
	} {
		must.EqualFor(t, f, want, briefly(f))
	}
}

// Every step is drawn once, whatever the graph looks like.
func TestOddTopologies(t *testing.T) {
	node := func(id string) result.Node { return result.Node{ID: id, Kind: "veth", Host: "h" + id, Label: "d" + id} }
	long := &result.Topology{}
	for range 2000 {
		long.Nodes = append(long.Nodes, result.Node{ID: strings.Repeat("x", 1+len(long.Nodes)), Host: strings.Repeat("h", 1+len(long.Nodes)%7)})
		if n := len(long.Nodes); n > 1 {
			long.Edges = append(long.Edges, result.Edge{From: long.Nodes[n-2].ID, To: long.Nodes[n-1].ID}, result.Edge{From: long.Nodes[n-1].ID, To: long.Nodes[0].ID})
		}
	}
	for name, c := range map[string]struct {
		in    *result.Topology
		stops int
	}{
		"circle":       {&result.Topology{Nodes: []result.Node{node("a"), node("b")}, Edges: []result.Edge{{From: "a", To: "b"}, {From: "b", To: "a"}, {From: "a", To: "a"}}}, 2},
		"same id":      {&result.Topology{Nodes: []result.Node{node("a"), node("a")}}, 1},
		"to nowhere":   {&result.Topology{Nodes: []result.Node{node("a")}, Edges: []result.Edge{{From: "a", To: "z"}}}, 1},
		"five hosts":   {&result.Topology{Nodes: []result.Node{node("a"), node("b"), node("c"), node("d"), node("e")}, Edges: []result.Edge{{From: "a", To: "e"}, {From: "e", To: "c"}}}, 5},
		"far too long": {long, 500},
	} {
		d := topologyOf(result.Mode{ID: name, Topology: c.in})
		must.EqualFor(t, name+": stops", c.stops, len(d.Figure.Stops))
		svg := d.Figure.Inline("x")
		if !bytes.Equal(svg, topologyOf(result.Mode{ID: name, Topology: c.in}).Figure.Inline("x")) {
			t.Errorf("%s: two drawings differ", name)
		}
		if len(svg) > 100_000 || bytes.Contains(svg, []byte("NaN")) {
			t.Errorf("%s: %d bytes", name, len(svg))
		}
	}
	for name, in := range map[string]*result.Topology{"none": nil, "empty": {}} {
		if svg, d := topologyFigure(result.Mode{ID: name, Topology: in}, "x"); svg != nil || d != nil {
			t.Errorf("%s is drawn", name)
		}
	}
}

// A proof that a file holds in part says no more than it knows.
func TestSigns(t *testing.T) {
	fits, misfits := finding("a/x.tx_bytes", "forward", 5, 5, 5), finding("a/x.tx_bytes", "forward", 4, 5, 0)
	n := result.Node{Counters: []string{"a/x.tx_bytes", "a/gone.tx_bytes"}}
	got := findingsOf(n, &result.Proof{Findings: []result.Finding{fits, misfits}})
	must.Equal(t, []result.Finding{misfits}, got)
	must.EqualFor(t, "a counter without a rule has the sign", chart.Unsaid, signOf(result.Finding{Counter: "a/x.tx_bytes", Moved: new(uint64(5))}))
}

// topologyFigure draws the way through a mode as inline SVG, whose ids begin with id,
// with the words and the table behind it; nil where there is nothing to draw.
func topologyFigure(m result.Mode, id string) (svg []byte, d *pathDrawing) {
	if d = topologyOf(m); d == nil {
		return nil, nil
	}
	return d.Figure.Inline(id), d
}
