package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// clusterRun is a run that explains a pod by its neighbours, whose paths take so many microseconds
// per transaction.
func clusterRun(us map[string]float64, change func(*result.Trial)) (result.Run, Evidence) {
	in := Evidence{Study: study.Study{
		Margin: 0.03, Workloads: []study.Workload{{ID: "rr", Kind: "tcp_rr"}},
		CostByParts: &study.CostByParts{
			Of:     "pod",
			Causes: true,
			Modes:  []study.PartMode{{Mode: "hostnet"}, {Mode: "node-to-pod", Part: result.PartServerPod, Title: "the server is in a pod"}, {Mode: "pod", Part: result.PartClientPod, Title: "the client is in a pod, too"}},
			Within: &study.Within{Baseline: "local", Mode: "pod-local", Across: "pod"},
		},
	}}
	if _, has := us["limited"]; has {
		in.Study.CostByParts.Of = "limited"
		in.Study.CostByParts.Modes = append(in.Study.CostByParts.Modes, study.PartMode{Mode: "limited", Part: result.PartCPULimit, Title: "a limit"})
	}
	var run result.Run
	rng := rand.New(rand.NewPCG(3, 4))
	for _, id := range []string{"hostnet", "node-to-pod", "pod", "local", "pod-local", "limited"} {
		each, has := us[id]
		if !has {
			continue
		}
		in.Study.Modes = append(in.Study.Modes, study.Mode{Mode: id})
		m := result.Mode{ID: id, Status: result.ModeMeasured, Baseline: "hostnet"}
		if id == "pod" {
			m.Facts = []result.Fact{{Name: "between the nodes", Value: "overlay, VXLAN: device flannel.1, MTU 1450"}}
			m.Topology = &result.Topology{Nodes: []result.Node{{Sandbox: "client", Label: "eth0", Facts: []result.Fact{{Name: "mtu", Value: "1450"}}},
				{Kind: "vxlan", Label: "flannel.1", Facts: []result.Fact{{Name: "mtu", Value: "1450"}}}}}
		}
		run.Modes = append(run.Modes, m)
		for b := range 8 {
			time := each * 1e-6 * (1 + 0.1*math.Sin(float64(b))) * (1 + 0.004*rng.NormFloat64())
			t := result.Trial{Block: b + 1, Seq: len(in.Trials) + 1, Mode: id, Workload: "rr", Attempt: 1, Status: result.TrialOK, Traffic: 1, Window: 1,
				Metrics: map[string]float64{"transaction_rate": 1 / time}, Machine: map[string]float64{"cpu_softirq": 0.2},
				Client: &result.End{MSS: 1448, Retransmits: new(int64), Sent: 1 << 30}}
			if change != nil {
				change(&t)
			}
			in.Trials = append(in.Trials, t)
		}
	}
	return run, in
}

// Each cause that is built in is the one that is named, with its value.
func TestExplanations(t *testing.T) {
	tunnel := map[string]float64{"hostnet": 10, "node-to-pod": 14, "pod": 15, "local": 8, "pod-local": 9}
	pods := map[string]float64{"hostnet": 10, "node-to-pod": 12, "pod": 15, "local": 8, "pod-local": 12.5}
	for name, tt := range map[string]struct {
		us     map[string]float64
		change func(*result.Trial)
		edit   func(*result.Run, *Evidence)
		kind   result.ExplanationKind
		part   string
		text   []string
	}{
		"the tunnel":               {us: tunnel, kind: result.ExplainedPart, part: result.PartTunnel, text: []string{"the tunnel between the nodes (overlay, VXLAN", "grows by 4.", "which leaves 4."}},
		"the pods' devices":        {us: pods, kind: result.ExplainedPart, part: result.PartPods, text: []string{"the devices of the pods", "pods add 4."}},
		"nothing is slower":        {us: map[string]float64{"hostnet": 10, "node-to-pod": 10, "pod": 10, "local": 8, "pod-local": 8}, kind: result.ExplainedNone, text: []string{"pod is not slower than hostnet"}},
		"faster than its baseline": {us: map[string]float64{"hostnet": 10, "node-to-pod": 9, "pod": 8, "local": 8, "pod-local": 8}, kind: result.ExplainedUnknown, text: []string{"pod is faster than hostnet by 2.", "(1.", "should not be"}},
		"without local ones":       {us: map[string]float64{"hostnet": 10, "node-to-pod": 14, "pod": 15}, kind: result.ExplainedPart, part: result.PartServerPod, text: []string{"the server is in a pod: it adds 4."}},
		"a CPU limit as a step": {us: map[string]float64{"hostnet": 10, "node-to-pod": 14, "pod": 15, "local": 8, "pod-local": 9, "limited": 40},
			kind: result.ExplainedCPULimit, part: result.PartCPULimit, text: []string{"it adds 25", "of the 30"}},
		"a CPU limit that was counted": {us: tunnel, change: func(t *result.Trial) { t.Machine[result.MachineThrottled] = 0.4 },
			kind: result.ExplainedCPULimit, part: result.PartCPULimit, text: []string{"0.40 s of each second"}},
		"lost packets": {us: tunnel, change: func(t *result.Trial) {
			if t.Mode == "pod" {
				*t.Client.Retransmits = 10000
			}
		}, kind: result.ExplainedLoss, text: []string{"TCP sends 1.3 %", "0 % on the host network"}},
		"an MTU above the tunnel's": {us: tunnel, edit: func(r *result.Run, _ *Evidence) { r.Modes[2].Topology.Nodes[0].Facts[0].Value = "1500" },
			kind: result.ExplainedMTU, text: []string{"up to 1500 bytes, and flannel.1 between the nodes carries 1450"}},
		"too much noise": {us: tunnel, edit: func(_ *result.Run, in *Evidence) {
			for i := range in.Trials {
				if in.Trials[i].Mode == "pod" && in.Trials[i].Block%2 == 0 {
					in.Trials[i].Metrics["transaction_rate"] *= 3
				}
			}
		}, kind: result.ExplainedUnknown, text: []string{"the run does not tell whether pod is slower"}},
		"one block": {us: tunnel, edit: func(_ *result.Run, in *Evidence) {
			var first []result.Trial
			for _, t := range in.Trials {
				if t.Block == 1 {
					first = append(first, t)
				}
			}
			in.Trials = first
		}, kind: result.ExplainedUnknown, text: []string{"it is not known whether"}},
		"soft interrupts": {us: tunnel, change: func(t *result.Trial) {
			if t.Mode == "pod" {
				t.Machine["cpu_softirq"] = 0.5
			}
		}, kind: result.ExplainedPart, part: result.PartTunnel, text: []string{"3.7 times as much CPU time in soft interrupts per transaction"}},
	} {
		run, in := clusterRun(tt.us, tt.change)
		if tt.edit != nil {
			tt.edit(&run, &in)
		}
		got := Evaluate(run, in).CostByParts.Explanations
		if len(got) != 1 || got[0].Kind != tt.kind || got[0].Part != tt.part || got[0].Next == "" || got[0].Workload != "rr" {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		must.ContainFor(t, name, got[0].Text, tt.text...)
	}
}

// A smaller MTU explains a lower goodput if it is much smaller.
func TestExplanationOfSegments(t *testing.T) {
	for own, want := range map[int]result.ExplanationKind{1398: result.ExplainedMTU, 8850: result.ExplainedPart} {
		run, in := clusterRun(map[string]float64{"hostnet": 10, "node-to-pod": 14, "pod": 15, "local": 8, "pod-local": 9}, func(t *result.Trial) {
			t.Metrics = map[string]float64{"goodput": 1e15 * t.Metrics["transaction_rate"] / 1e9}
			if t.Client.MSS = 8948; t.Mode == "pod" {
				t.Client.MSS = own
			}
		})
		got := Evaluate(run, in).CostByParts.Explanations
		if len(got) != 1 || got[0].Kind != want || want == result.ExplainedMTU && !strings.Contains(got[0].Text, fmt.Sprintf("segments carry %d bytes, and 8948", own)) {
			t.Errorf("%d: %+v", own, got)
		}
	}
}

// Modes that all send at one rate have the same goodput, which explains nothing.
func TestNoExplanationAtOneRate(t *testing.T) {
	run, in := clusterRun(map[string]float64{"hostnet": 10, "node-to-pod": 10, "pod": 10}, func(t *result.Trial) {
		t.Metrics = map[string]float64{"goodput": 1e9}
	})
	run.Paces = []result.Pace{{Workload: "rr", Rate: 1e9}}
	got := Evaluate(run, in).CostByParts.Explanations
	must.True(t, len(got) == 1 && got[0].Kind == result.ExplainedUnknown && strings.Contains(got[0].Next, "--full-rate"), "%+v", got)
}

// A cost by parts that does not ask for causes has none.
func TestNoExplanationUnasked(t *testing.T) {
	run, in := clusterRun(map[string]float64{"hostnet": 10, "node-to-pod": 14, "pod": 15}, nil)
	in.Study.CostByParts.Causes = false
	must.Equal(t, []result.Explanation(nil), Evaluate(run, in).CostByParts.Explanations)
}
