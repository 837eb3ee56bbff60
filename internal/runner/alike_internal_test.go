package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// node is a device of a drawing with its facts in pairs.
func node(kind, host, sandbox, label string, facts ...string) result.Node {
	n := result.Node{Kind: kind, Host: host, Sandbox: sandbox, Label: label}
	for i := 0; i+1 < len(facts); i += 2 {
		n.Facts = append(n.Facts, result.Fact{Name: facts[i], Value: facts[i+1]})
	}
	return n
}

// pathOf is a measured mode with its drawing and stacks.
func pathOf(mode, baseline string, stacks []driver.Settings, nodes ...result.Node) *stage {
	return &stage{mode: driver.Mode{ID: mode, Baseline: baseline}, status: result.ModeMeasured, stacks: stacks, topology: &result.Topology{Nodes: nodes}}
}

func ended(at string) result.Node { return node("process", at, "", "process") }

// codes are the warnings of a run by code and scope.
func codes(r *run) []string {
	out := []string{}
	for _, w := range r.out.Warnings {
		out = append(out, w.Code+" "+w.Scope)
	}
	return out
}

// What differs between a mode and its baseline beside the mode itself is told, and
// nothing where they are alike or nothing is known.
func TestAlike(t *testing.T) {
	const full = "gso tso tx-checksum"
	set := func(at string, settings map[string]string, filters ...driver.Filter) driver.Settings {
		return driver.Settings{At: at, Sysctls: settings, Filters: filters}
	}
	base := func(stacks ...driver.Settings) *stage {
		return pathOf("host", "", stacks, ended("a"), node("veth", "a", "", "eth0", "mtu", "1500", "offloads", full), ended("b"))
	}
	docker := driver.Filter{Family: "ip", Table: "filter", Chain: "FORWARD", Hook: "forward", Drops: true, Rules: 6, All: 9, Docker: true}
	tests := []struct {
		name      string
		base, of  *stage
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
			[]study.Workload{{ID: "fits", Kind: "udp_stream", PayloadSize: 1472}, {ID: "large", Kind: "udp_stream", PayloadSize: 1473},
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
			pathOf("m", "host", []driver.Settings{set("a/client", map[string]string{"net/ipv4/tcp_rmem": "1 2 3"}), set("b", map[string]string{"net/ipv4/tcp_rmem": "1 2 4"})},
				node("process", "a", "client", "process"), ended("b")), nil, nil, []string{"settings_differ m"},
		},
		{
			"a stack between the ends may be set as it likes", base(set("a", nil), set("b", nil)),
			pathOf("m", "host", []driver.Settings{set("a", nil), set("c", map[string]string{"net/ipv4/tcp_sack": "0"}), set("b", nil)}, ended("a"), ended("b")), nil, nil, []string{},
		},
		{"Docker on the baseline's path", base(set("a", nil, docker)), pathOf("m", "host", nil, ended("a")), nil, nil, []string{"baseline_filtered host"}},
		{"a chain without rules", base(set("a", nil, driver.Filter{Hook: "input"})), pathOf("m", "host", nil, ended("a")), nil, nil, []string{}},
		{
			"bridged frames that are filtered", base(),
			pathOf("m", "host", []driver.Settings{set("a", map[string]string{driver.SysctlBridgeIPv4: "1"}, docker)}, ended("a"), node("bridge", "a", "", "br0", "mtu", "1500")), nil, nil,
			[]string{"bridge_netfilter m"},
		},
		{
			"no bridge there", base(),
			pathOf("m", "host", []driver.Settings{set("a", map[string]string{driver.SysctlBridgeIPv4: "1"})}, ended("a"), node("bridge", "a", "other", "br0", "mtu", "1500")), nil, nil, []string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &run{cfg: Config{Listener: nobody{}}, stages: []*stage{tt.base, tt.of}, plan: plan.Plan{Workloads: tt.workloads}}
			r.out.Warnings = tt.said
			r.alike()
			if d := cmp.Diff(tt.want, codes(r)); d != "" {
				t.Errorf("(-want +got):\n%s\n%v", d, r.out.Warnings)
			}
		})
	}
}

// What two ends were granted is compared: algorithms that the study leaves open, and
// buffers of a fixed size.
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
		{"alike", study.Workload{SendBuffer: study.Buffer(100), ReceiveBuffer: study.Buffer(100)}, trial("m", "cubic", 200, 200), []string{}},
		{"left open", study.Workload{SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer()}, trial("m", "bbr", 999, 999), []string{"congestion_differs m w"}},
		{"asked for", study.Workload{Congestion: "cubic", SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer()}, trial("m", "bbr", 200, 200), []string{"congestion_control m"}},
		{"a stack with other limits", study.Workload{SendBuffer: study.Buffer(100), ReceiveBuffer: study.Buffer(100)}, trial("m", "cubic", 200, 300), []string{"buffers_differ m w"}},
		{"unknown, as of a tool", study.Workload{SendBuffer: study.Buffer(100), ReceiveBuffer: study.Buffer(100)}, trial("m", "", 0, 0), []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &run{cfg: Config{Listener: nobody{}}, trials: []result.Trial{trial("host", "cubic", 200, 200), tt.of}}
			r.out.Modes = []result.Mode{{ID: "host"}, {ID: "m", Baseline: "host"}}
			tt.asked.ID = "w"
			r.compareEnds(tt.asked)
			if d := cmp.Diff(tt.want, codes(r)); d != "" {
				t.Errorf("(-want +got):\n%s\n%v", d, r.out.Warnings)
			}
		})
	}
}

func TestPressed(t *testing.T) {
	with := func(figures map[string]float64) result.Trial {
		figures[figureElapsed] = 10
		return result.Trial{Mode: "m", Workload: "w", Status: result.TrialOK, Machine: figures}
	}
	quiet := func() result.Trial {
		return with(map[string]float64{figurePressureMemory: 0.1, figurePressureCPU: 2.5, figureAvailable: littleMemory, figureSwapped: muchSwap,
			figureKills: 0, figureGroupStalls: 0, figureTracked: fullTracking})
	}
	ruledOut := with(map[string]float64{figurePressureMemory: 9, figureTracked: 1})
	ruledOut.Status = result.TrialInvalid
	tests := []struct {
		name   string
		trials []result.Trial
		place  string
		want   []string
	}{
		{"up to the limits, and what does not count", []result.Trial{quiet(), ruledOut, {Status: result.TrialOK, Mode: "m", Workload: "w"}}, study.Free, []string{}},
		{"memory", []result.Trial{quiet(), with(map[string]float64{figurePressureMemory: 0.11})}, study.Free, []string{"memory_pressure run"}},
		{"little of it", []result.Trial{with(map[string]float64{figureAvailable: littleMemory - 1})}, study.Free, []string{"memory_pressure run"}},
		{"a group's limit", []result.Trial{with(map[string]float64{figureGroupStalls: 1})}, study.Free, []string{"memory_pressure run"}},
		{"swap", []result.Trial{with(map[string]float64{figureSwapped: muchSwap + 1})}, study.Free, []string{"swapping run"}},
		{"kills, of the machine and of a group", []result.Trial{with(map[string]float64{figureKills: 1, figureGroupKills: 1})}, study.Free, []string{"oom_kill run"}},
		{"CPUs", []result.Trial{with(map[string]float64{figurePressureCPU: 2.51})}, study.Free, []string{"cpu_pressure w"}},
		{"CPUs in one trial of three", []result.Trial{quiet(), quiet(), with(map[string]float64{figurePressureCPU: 9})}, study.Free, []string{}},
		{"one CPU for both, as asked for", []result.Trial{with(map[string]float64{figurePressureCPU: 9})}, study.OneCore, []string{}},
		{"connections", []result.Trial{with(map[string]float64{figureTracked: 0.91}), with(map[string]float64{figureTracked: 1})}, study.Free, []string{"conntrack_full m w"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &run{cfg: Config{Listener: nobody{}}, trials: tt.trials, plan: plan.Plan{Workloads: []study.Workload{{ID: "w", Placement: tt.place}}}}
			r.pressed()
			if d := cmp.Diff(tt.want, append([]string{}, codes(r)...)); d != "" {
				t.Errorf("(-want +got):\n%s\n%v", d, r.out.Warnings)
			}
		})
	}
}

// looked is a path whose stacks say how they are set, and how many connections they track.
func looked(err error, tracked map[string]driver.Tracked, stacks ...driver.Settings) *driver.Path {
	p := &driver.Path{}
	for _, s := range stacks {
		t, tracks := tracked[s.At]
		p.Stacks = append(p.Stacks, driver.NetworkStack{
			Name: s.At, Survey: func(context.Context) (driver.Settings, error) { return s, err },
			Tracked: func(context.Context) (driver.Tracked, bool, error) { return t, tracks, err },
		})
	}
	return p
}

func TestSurvey(t *testing.T) {
	r := &run{cfg: Config{Listener: nobody{}}}
	s := &stage{path: looked(nil, map[string]driver.Tracked{"a": {Count: 10, Max: 100}, "b": {Count: 30, Max: 60}, "c": {Count: 1}},
		driver.Settings{At: "a", Sysctls: map[string]string{driver.SysctlCongestion: "bbr"}},
		driver.Settings{At: "b", Sysctls: map[string]string{driver.SysctlCongestion: "cubic"}, Filters: []driver.Filter{{Family: "inet", Table: "t", Chain: "c", Hook: "forward", Drops: true, Rules: 1, All: 1}, {Family: "ip", Table: "filter", Rules: 2, All: 2}}},
		driver.Settings{At: "c", NoFilters: "it may not be asked"},
	)}
	r.survey(t.Context(), s)
	want := []result.Fact{{Name: "default congestion control", Value: "a bbr, b cubic"}, {Name: "b packet filter", Value: "inet t forward: 1 rule, else drop; ip filter (old iptables): 2 rules"}}
	if d := cmp.Diff(want, s.facts); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	l := &lane{stage: s}
	l.tracked(t.Context())
	if got := l.out.Machine[figureTracked]; got != 0.5 {
		t.Errorf("%g of the tracking is in use, want 0.5", got)
	}
	if d := cmp.Diff([]string{"not_observed run"}, codes(r)); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	s = &stage{path: looked(errors.New("gone"), nil, driver.Settings{At: "a"})}
	r.survey(t.Context(), s)
	l = &lane{stage: s}
	l.tracked(t.Context())
	if len(s.stacks) != 0 || l.out.Machine != nil || len(r.out.Warnings) != 2 {
		t.Errorf("of a path that cannot be read: %v, %v, warnings %v", s.stacks, l.out.Machine, r.out.Warnings)
	}
	(&lane{stage: &stage{path: nil}}).tracked(t.Context()) // nothing to ask
}
