package analysis

import (
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// node is a device of a drawing with its facts in pairs.
func node(kind, host, sandbox, label string, facts ...string) result.Node {
	n := result.Node{Kind: kind, Host: host, Sandbox: sandbox, Label: label}
	for i := 0; i+1 < len(facts); i += 2 {
		n.Facts = append(n.Facts, result.Fact{Name: facts[i], Value: facts[i+1]})
	}
	return n
}

// drawnMode is a measured mode with its drawing and stacks.
type drawnMode struct {
	result.Mode
	stacks []Stack
}

func pathOf(mode, baseline string, stacks []Stack, nodes ...result.Node) drawnMode {
	return drawnMode{result.Mode{ID: mode, Baseline: baseline, Status: result.ModeMeasured, Topology: &result.Topology{Nodes: nodes}}, stacks}
}

// The settings that a run reads.
const (
	bridgeFilter   = "net/bridge/bridge-nf-call-iptables"
	defaultControl = "net/ipv4/tcp_congestion_control"
)

var sockets = []string{"net/ipv4/tcp_rmem", "net/ipv4/tcp_sack", defaultControl}

func ended(at string) result.Node { return node("process", at, "", "process") }

// Differences between the paths of a mode and its baseline have warnings; equal or unknown
// paths have none.
func TestComparePaths(t *testing.T) {
	const full = "gso tso tx-checksum"
	set := func(at string, settings map[string]string) Stack { return Stack{At: at, Settings: settings} }
	docker := func(s Stack) Stack { s.Rules, s.Docker = 6, true; return s }
	base := func(stacks ...Stack) drawnMode {
		return pathOf("host", "", stacks, ended("a"), node("veth", "a", "", "eth0", "mtu", "1500", "offloads", full), ended("b"))
	}
	tests := []struct {
		name      string
		base, of  drawnMode
		workloads []study.Workload
		said      []result.Warning
		want      []string
	}{
		{"alike", base(), pathOf("m", "host", nil, ended("a"), node("veth", "a", "", "eth0", "mtu", "1500", "offloads", "gro "+full), ended("b")), nil, nil, []string{}},
		{"nothing known", base(), pathOf("m", "host", nil, ended("a"), node("veth", "a", "", "eth0"), ended("b")), nil, nil, []string{}},
		{"a smaller MTU", base(), pathOf("m", "host", nil, node("vxlan", "a", "", "vx", "mtu", "1450", "offloads", full)), nil, nil, []string{"mtu_differs m"}},
		{
			"one that was told of its segments", base(), pathOf("m", "host", nil, node("vxlan", "a", "", "vx", "mtu", "1450")), nil,
			[]result.Warning{{Code: "mss_differs", Scope: "m tcp_stream"}}, []string{"mss_differs m tcp_stream"},
		},
		{
			"datagrams in pieces", base(), pathOf("m", "host", nil, node("vxlan", "a", "", "vx", "mtu", "1500")),
			[]study.Workload{{ID: "refused", Kind: "udp_stream", PayloadSize: 16384, Fragment: study.Off}, {ID: "fits", Kind: "udp_stream", PayloadSize: 1472}, {ID: "large", Kind: "udp_stream", PayloadSize: 1473},
				{ID: "six", Kind: "udp_stream", PayloadSize: 1472, Family: study.IPv6}}, nil,
			[]string{"udp_fragments host large", "udp_fragments m large", "udp_fragments host six", "udp_fragments m six"},
		},
		{"no TSO", base(), pathOf("m", "host", nil, node("tun", "a", "", "wg0", "mtu", "1500", "offloads", "gso tx-checksum")), nil, nil, []string{"offloads_differ m"}},
		{
			"no TSO on either", pathOf("host", "", nil, node("veth", "a", "", "eth0", "mtu", "1500", "offloads", "gso tx-checksum")),
			pathOf("m", "host", nil, node("tun", "a", "", "wg0", "mtu", "1500", "offloads", "gso tx-checksum")), nil, nil, []string{},
		},
		{
			"other buffers at an end", base(set("a", map[string]string{"net/ipv4/tcp_rmem": "1 2 3"}), set("b", map[string]string{"net/ipv4/tcp_rmem": "1 2 3", "net/ipv4/tcp_sack": "1"})),
			pathOf("m", "host", []Stack{set("a/client", map[string]string{"net/ipv4/tcp_rmem": "1 2 3"}), set("b", map[string]string{"net/ipv4/tcp_rmem": "1 2 4"})},
				node("process", "a", "client", "process"), ended("b")), nil, nil, []string{"settings_differ m"},
		},
		{
			"the settings of a stack between the endpoints do not matter", base(set("a", nil), set("b", nil)),
			pathOf("m", "host", []Stack{set("a", nil), set("c", map[string]string{"net/ipv4/tcp_sack": "0"}), set("b", nil)}, ended("a"), ended("b")), nil, nil, []string{},
		},
		{
			"another default congestion control, which sockets of tare's own do not have", base(set("a", map[string]string{defaultControl: "cubic"}), set("b", nil)),
			pathOf("m", "host", []Stack{set("a", map[string]string{defaultControl: "reno"}), set("b", nil)}, ended("a"), ended("b")), []study.Workload{{ID: "own", Tool: study.BuiltIn}}, nil, []string{},
		},
		{
			"another default for those of iperf3", base(set("a", map[string]string{defaultControl: "cubic"}), set("b", nil)),
			pathOf("m", "host", []Stack{set("a", map[string]string{defaultControl: "reno"}), set("b", nil)}, ended("a"), ended("b")), []study.Workload{{ID: "own"}, {ID: "other", Tool: "iperf3"}}, nil, []string{"settings_differ m"},
		},
		{"Docker on the baseline's path", base(docker(set("a", nil))), pathOf("m", "host", nil, ended("a")), nil, nil, []string{"baseline_filtered host"}},
		{"a chain without rules", base(set("a", nil)), pathOf("m", "host", nil, ended("a")), nil, nil, []string{}},
		{
			"bridged frames that are filtered", base(),
			pathOf("m", "host", []Stack{docker(set("a", map[string]string{bridgeFilter: "1"}))}, ended("a"), node("bridge", "a", "", "br0", "mtu", "1500")), nil, nil,
			[]string{"bridge_netfilter m"},
		},
		{
			"no bridge there", base(),
			pathOf("m", "host", []Stack{set("a", map[string]string{bridgeFilter: "1"})}, ended("a"), node("bridge", "a", "other", "br0", "mtu", "1500")), nil, nil, []string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &evaluation{run: result.Run{Modes: []result.Mode{tt.base.Mode, tt.of.Mode}, Warnings: tt.said}, in: Evidence{
				Study:  study.Study{Workloads: tt.workloads},
				Survey: Survey{Stacks: map[string][]Stack{tt.base.ID: tt.base.stacks, tt.of.ID: tt.of.stacks}, Sockets: sockets, Bridged: bridgeFilter, Congestion: defaultControl},
			}}
			e.comparePaths()
			must.Equal(t, tt.want, codes(e.run))
		})
	}
}

// What a variant of a mode sets on purpose is no warning.
func TestChosenSettings(t *testing.T) {
	base := pathOf("host", "", nil, ended("a"), node("veth", "a", "", "eth0", "mtu", "1500", "offloads", "gso tso tx-checksum"))
	of := pathOf("m", "host", []Stack{{At: "a", Settings: map[string]string{bridgeFilter: "1"}}}, ended("a"), node("bridge", "a", "", "br0", "mtu", "1500", "offloads", "gso tx-checksum"))
	for _, tt := range []struct {
		with map[string]string
		want []string
	}{
		{nil, []string{"bridge_netfilter m", "offloads_differ m"}},
		{map[string]string{"bridge_nf": "on"}, []string{"offloads_differ m"}},
		{map[string]string{"tso": "off"}, []string{"bridge_netfilter m"}},
	} {
		e := &evaluation{run: result.Run{Modes: []result.Mode{base.Mode, of.Mode}}, in: Evidence{
			Study:  study.Study{Modes: []study.Mode{{Mode: "host"}, {Mode: "netns/bridge", ID: "m", With: tt.with}}},
			Survey: Survey{Stacks: map[string][]Stack{"m": of.stacks}, Sockets: sockets, Bridged: bridgeFilter, Congestion: defaultControl},
		}}
		e.comparePaths()
		must.EqualFor(t, tt.with, tt.want, codes(e.run))
	}
}

// Congestion control that the study leaves open and fixed-size buffers are compared with the
// baseline's.
func TestCompareEnds(t *testing.T) {
	trial := func(mode, congestion string, send, receive int) result.Trial {
		return result.Trial{Mode: mode, Workload: "w", Status: result.TrialOK,
			Client: &result.End{Congestion: congestion, SendBuffer: send, MSS: 1448}, Server: &result.End{ReceiveBuffer: receive}}
	}
	tests := []struct {
		name  string
		asked study.Workload
		of    result.Trial
		want  []string
	}{
		{"alike", study.Workload{SendBuffer: quantity.Buffer(100), ReceiveBuffer: quantity.Buffer(100)}, trial("m", "cubic", 200, 200), []string{}},
		{"left open", study.Workload{SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()}, trial("m", "bbr", 999, 999), []string{"congestion_differs m w"}},
		{"asked for", study.Workload{Congestion: "cubic", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()}, trial("m", "bbr", 200, 200), []string{"congestion_control m"}},
		{"a stack with other limits", study.Workload{SendBuffer: quantity.Buffer(100), ReceiveBuffer: quantity.Buffer(100)}, trial("m", "cubic", 200, 300), []string{"buffers_differ m w"}},
		{"unknown, as of a tool", study.Workload{SendBuffer: quantity.Buffer(100), ReceiveBuffer: quantity.Buffer(100)}, trial("m", "", 0, 0), []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &evaluation{run: result.Run{Modes: []result.Mode{{ID: "host"}, {ID: "m", Baseline: "host"}}}, in: Evidence{Trials: []result.Trial{trial("host", "cubic", 200, 200), tt.of}}}
			tt.asked.ID = "w"
			e.compareEnds(tt.asked)
			must.Equal(t, tt.want, codes(e.run))
		})
	}
}

// codes are the warnings of a run by code and scope.
func codes(r result.Run) []string {
	out := []string{}
	for _, w := range r.Warnings {
		out = append(out, w.Code+" "+w.Scope)
	}
	return out
}
