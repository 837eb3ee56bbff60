package paths

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

func TestPaths(t *testing.T) {
	topology := func(edges ...string) *result.Topology {
		t := &result.Topology{}
		for _, id := range []string{"a", "b", "c", "d"} {
			t.Nodes = append(t.Nodes, result.Node{ID: id, Kind: "veth", Label: id})
		}
		for _, e := range edges {
			t.Edges = append(t.Edges, result.Edge{From: e[:1], To: e[1:]})
		}
		return t
	}
	for _, c := range []struct {
		name string
		in   *result.Topology
		want []string
	}{
		{"none", nil, nil},
		{"chain, out of order", topology("bc", "ab", "cd"), []string{"veth a>veth b>veth c>veth d"}},
		{"two ways", topology("ab", "ac", "bd", "cd"), []string{"veth a>veth b>veth d", "veth a>veth c>veth d"}},
		{"circle", topology("ab", "ba", "cd"), []string{"veth c>veth d", "veth a>veth b"}},
		{"to nowhere", topology("ab", "bx", "xc"), []string{"veth a>veth b", "veth c", "veth d"}},
		{"no edges", topology(), []string{"veth a", "veth b", "veth c", "veth d"}},
	} {
		var got []string
		for _, way := range paths(c.in) {
			var labels []string
			for _, s := range way {
				labels = append(labels, s.Label)
			}
			got = append(got, strings.Join(labels, ">"))
		}
		must.EqualFor(t, c.name, c.want, got)
	}
}

func TestBriefly(t *testing.T) {
	for want, f := range map[string]result.Finding{
		"tx 1.50 of 1.40-1.60 GB": reports.Finding("a/eth0.tx_bytes", "forward", 15e8, 14e8, 16e8),
		"tx 900 B of ≥ 1.40 GB":   reports.Finding("a/eth0.tx_bytes", "forward at least", 900, 14e8, 0),
		"rx 12 B of ≤ 16.4 kB":    reports.Finding("a/eth0.rx_bytes", "still", 12, 0, 16384),
		"0 packets of none":       reports.Finding("b/dnat:5201.packets", "unmet", 0, 0, 0),
		"unlike 3 of none":        reports.Finding("b/connections.unlike", "unmet", 3, 0, 0),
		"ran 12.0 of ≥ 0.100 ms":  reports.Finding("b/docker-proxy:5201.run_ns", "works", 12e6, 1e5, 0),
		"in 5.00 of 5.00-5.10 kB": reports.Finding("b/tare.forward_in_bytes", "forward", 5000, 5000, 5100),
		"dnat 2 of ≥ 2 packets":   reports.Finding("b/tare.dnat_packets", "connections", 2, 2, 0),
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
		d := Drawing(result.Mode{ID: name, Topology: c.in})
		must.EqualFor(t, name+": stops", c.stops, len(d.Figure.Stops))
		svg := d.Figure.Inline("x")
		must.True(t, bytes.Equal(svg, Drawing(result.Mode{ID: name, Topology: c.in}).Figure.Inline("x")), "%s: two drawings differ", name)
		must.True(t, len(svg) <= 100_000 && !bytes.Contains(svg, []byte("NaN")), "%s: %d bytes", name, len(svg))
	}
	for name, in := range map[string]*result.Topology{"none": nil, "empty": {}} {
		svg, d := topologyFigure(result.Mode{ID: name, Topology: in}, "x")
		must.True(t, svg == nil && d == nil, "%s is drawn", name)
	}
}

// A proof that a file holds in part says no more than it knows.
func TestSigns(t *testing.T) {
	fits, misfits := reports.Finding("a/x.tx_bytes", "forward", 5, 5, 5), reports.Finding("a/x.tx_bytes", "forward", 4, 5, 0)
	n := result.Node{Counters: []string{"a/x.tx_bytes", "a/gone.tx_bytes"}}
	got := findingsOf(n, &result.Proof{Findings: []result.Finding{fits, misfits}})
	must.Equal(t, []result.Finding{misfits}, got)
	must.EqualFor(t, "a counter without a rule has the sign", chart.Unsaid, signOf(result.Finding{Counter: "a/x.tx_bytes", Moved: new(uint64(5))}))
}

// topologyFigure draws the way through a mode as inline SVG, whose ids begin with id,
// with the words and the table behind it; nil where there is nothing to draw.
func topologyFigure(m result.Mode, id string) (svg []byte, d *pathDrawing) {
	if d = Drawing(m); d == nil {
		return nil, nil
	}
	return d.Figure.Inline(id), d
}
