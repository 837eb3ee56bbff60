// Package reports has runs to test reports with, from a plain one to one whose texts are out to break them.
package reports

import (
	"fmt"
	"math"
	"time"

	"tare/internal/analysis/verdict"
	"tare/internal/report/view/model"
	"tare/internal/result"
)

// Inputs are the runs that every form of report is tested with.
func Inputs() map[string]model.Input {
	full := Sample()

	interrupted := Sample()
	interrupted.Run.Status = result.RunInterrupted
	interrupted.Run.Finished = time.Time{}
	interrupted.Run.Cells = nil
	interrupted.Trials = interrupted.Trials[:9]

	unsupported := model.Input{Run: result.Run{Status: result.RunComplete, Warnings: full.Run.Warnings}}
	for _, m := range sampleModes() {
		m.Status, m.Reason = result.ModeUnsupported, "making a network namespace: operation not permitted"
		unsupported.Run.Modes = append(unsupported.Run.Modes, m)
	}

	return map[string]model.Input{
		"unsupported": unsupported,
		"full":        full,
		"interrupted": interrupted,
		"empty":       {Run: result.Run{Status: result.RunFailed}},
		"hostile":     Hostile(),
		"tools":       twoTools(),
		"sdn":         Sdn(),
		"settled":     Settled(),
		"noisy":       NoisyRun(),
		"priced":      Priced(),
		"limited":     AtTheLimit(),
		"proven":      Proven(),
		"explained":   Explained(),
		"ranking":     Ranking(),
		"concurrent":  Concurrent(),
		"claimed":     Claimed(),
		"setup":       SetUp(),
	}
}

// Sample is a quick run of seven modes with two workloads in four blocks, as the
// lab would give it: two baselines, one mode unsupported, one void, one trial
// ruled out and one failed, both repeated.
func Sample() model.Input {
	run := result.Run{
		Schema:   result.Schema,
		ID:       "20260801-093012-7f3a",
		Started:  time.Date(2026, 8, 1, 9, 30, 12, 0, time.UTC),
		Finished: time.Date(2026, 8, 1, 9, 31, 49, 0, time.UTC),
		Status:   result.RunComplete,
		Tare:     result.Build{Version: "0.1.0", Commit: "3f1c2ab9"},
		Seed:     42,
		Profile:  "quick",
		Hosts:    []result.Host{{Name: "a", Facts: sampleFacts()}, {Name: "b", Facts: sampleFacts()}},
		Modes:    sampleModes(),
		Warnings: []result.Warning{
			{Code: "shared_kernel", Scope: "run", Text: "Both hosts of the lab share one kernel and its 2 CPUs: sender and receiver compete, and what a second machine would add is not measured."},
			{Code: "no_wire", Scope: "run", Text: "The underlay is a veth pair: the wire, its NICs and their offloads are not measured."},
		},
	}
	trials := sampleTrials()
	run.Trials = result.Count(trials)
	run.Cells, _ = verdict.Judge(verdict.Input{Modes: run.Modes, Workloads: []string{"tcp_stream", "tcp_rr"}, Trials: trials, Serial: []string{"tcp_rr"}, Rule: verdict.Rule{Margin: 0.10, Indicative: true}})
	return model.Input{
		Run:         run,
		Trials:      trials,
		Title:       "Container networks on one machine",
		Description: "What does each way of joining containers cost beside the host's own stack?",
		Command:     "tare run container-networks --profile quick --seed 42",
	}
}

func sampleFacts() []result.Fact {
	return []result.Fact{
		{Name: "kernel", Value: "Linux 6.18.44 x86_64"},
		{Name: "cpu", Value: "AMD EPYC 9354P, 2 CPUs"},
		{Name: "memory", Value: "8 GiB"},
		{Name: "virtualization", Value: "kvm"},
		{Name: "congestion control", Value: "cubic"},
		{Name: "offloads", Value: "tso on, gso on, gro on"},
	}
}

func sampleModes() []result.Mode {
	return []result.Mode{
		{ID: "host", Title: "The host's own stack, over the underlay", Status: result.ModeMeasured, Topology: sampleTopology("veth ua", "veth ub")},
		{ID: "host-local", Title: "The host's own stack, within one host", Status: result.ModeMeasured},
		{ID: "netns/bridge", Title: "Two containers on one bridge", Baseline: "host-local", Status: result.ModeMeasured, Topology: sampleTopology("veth eth0", "bridge br0", "veth eth0 of server")},
		{ID: "netns/published", Title: "Published port, DNAT to a container", Baseline: "host", Status: result.ModeMeasured, Topology: sampleTopology("veth ua", "veth ub", "nat prerouting", "bridge br0", "veth eth0")},
		{ID: "netns/vxlan", Title: "VXLAN overlay between hosts", Baseline: "host", Status: result.ModeMeasured, Topology: sampleTopology("veth eth0", "bridge br0", "vxlan vx42", "veth ua", "veth ub", "vxlan vx42 on b", "bridge br0 on b", "veth eth0 on b")},
		{ID: "netns/ipvlan", Title: "ipvlan in L2 mode", Baseline: "host", Status: result.ModeUnsupported, Reason: "the kernel has no ipvlan: creating a link of that kind gave \"operation not supported\"; load the module ipvlan"},
		{ID: "netns/macvlan", Title: "macvlan in bridge mode", Baseline: "host", Status: result.ModeVoid, Reason: "macvlan mv0 on b moved 1 packet while 1.31 GB were sent: the traffic took another way"},
	}
}

func sampleTopology(labels ...string) *result.Topology {
	t := &result.Topology{}
	add := func(kind, host, sandbox, label string) {
		id := fmt.Sprintf("n%d", len(t.Nodes))
		if len(t.Nodes) > 0 {
			t.Edges = append(t.Edges, result.Edge{From: t.Nodes[len(t.Nodes)-1].ID, To: id})
		}
		t.Nodes = append(t.Nodes, result.Node{ID: id, Kind: kind, Host: host, Sandbox: sandbox, Label: label})
	}
	add("process", "a", "client", "")
	for i, l := range labels {
		host := "a"
		if i >= (len(labels)+1)/2 {
			host = "b"
		}
		add("", host, "", l)
		if l[:4] == "veth" {
			t.Nodes[len(t.Nodes)-1].Facts = []result.Fact{{Name: "mtu", Value: "1500"}}
		}
	}
	add("process", "b", "server", "")
	return t
}

// sampleTrials are four blocks of what each mode would give, with a noise that
// is the same in every test.
func sampleTrials() []result.Trial {
	level := []struct {
		mode                                  string
		goodput, retransmits, rate, p50, tail float64
	}{
		{"host", 23.4e9, 118, 41.2e3, 22.6e-6, 2.1},
		{"host-local", 38.9e9, 0, 52.8e3, 17.8e-6, 1.9},
		{"netns/bridge", 33.1e9, 14, 52.1e3, 18.3e-6, 2.0},
		{"netns/published", 22.5e9, 131, 39.0e3, 24.1e-6, 2.2},
		{"netns/vxlan", 16.6e9, 412, 31.7e3, 29.4e-6, 2.4},
	}
	noise := []float64{0.4, -1.2, 0.9, -0.3, 1.1, -0.8, 0.2, -1.0, 0.7, 1.3, -0.5, 0.1, -1.4, 0.6, -0.1, 1.0, -0.7}
	next := 0
	jitter := func(sd float64) float64 {
		next = (next + 7) % len(noise)
		return 1 + sd*noise[next]
	}
	var out []result.Trial
	at := time.Date(2026, 8, 1, 9, 30, 15, 0, time.UTC)
	add := func(t result.Trial) {
		t.Schema, t.Seq, t.Started = result.TrialSchema, len(out)+1, at
		t.Settle, t.Elapsed, t.Traffic = 0.3, 2.1, 2
		at = at.Add(2400 * time.Millisecond)
		out = append(out, t)
	}
	for block := 1; block <= 4; block++ {
		for i := range level {
			l := level[(i*3+block)%len(level)]
			stream := result.Trial{Block: block, Mode: l.mode, Workload: "tcp_stream", Attempt: 1, Status: result.TrialOK}
			stream.Metrics = map[string]float64{"goodput": math.Round(l.goodput * jitter(0.022)), "retransmits": math.Round(l.retransmits * jitter(0.2))}
			if block == 3 && l.mode == "netns/bridge" {
				bad := stream
				bad.Status, bad.Reason = result.TrialInvalid, "steal was 4.1 % of CPU time, more than 1 %"
				bad.Metrics = map[string]float64{"goodput": 27.9e9, "retransmits": 16}
				add(bad)
				stream.Attempt = 2
			}
			add(stream)
			rr := result.Trial{Block: block, Mode: l.mode, Workload: "tcp_rr", Attempt: 1, Status: result.TrialOK}
			if block == 2 && l.mode == "netns/vxlan" {
				bad := rr
				bad.Status, bad.Reason = result.TrialFailed, "dial 10.42.0.2:40001: i/o timeout"
				add(bad)
				rr.Attempt = 2
			}
			p50 := l.p50 * jitter(0.015)
			rr.Metrics = map[string]float64{"transaction_rate": math.Round(l.rate * jitter(0.02)), "rtt_p50": p50, "rtt_p99": p50 * l.tail * jitter(0.06)}
			add(rr)
		}
	}
	return out
}
