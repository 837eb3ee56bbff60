// Package synthetic generates runs of any size without measuring, as input for tests and
// benchmarks of readers and reports. Its values are drawn from a seed and are the same
// for the same [Shape].
package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tare/internal/result"
	"tare/internal/warning"
)

// Shape is the size of a run. The run has a trial for each of its modes and workloads in
// each block.
type Shape struct {
	Modes  int // at least 2: the first is the baseline of the others
	Blocks int // at least 1
	Seed   uint64
	Series int // values in a trial's series; none when 0
}

// Standard is the size of a run of the standard profile: 5 modes, 4 workloads and 12
// blocks, with series of 40 values.
func Standard() Shape { return Shape{Modes: 5, Blocks: 12, Seed: 7, Series: 40} }

// Huge is a run of 20 000 trials: 5 modes, 4 workloads and 1000 blocks.
func Huge() Shape { return Shape{Modes: 5, Blocks: 1000, Seed: 7, Series: 20} }

// Trials is the number of trials.
func (s Shape) Trials() int { return s.Modes * s.Blocks * len(Workloads()) }

// Workloads are those of every run.
func Workloads() []string { return []string{"tcp_stream", "tcp_rr", "tcp_crr", "udp_stream"} }

// start is the start time of every run.
func start() time.Time { return time.Date(2026, 8, 1, 9, 30, 12, 0, time.UTC) }

// Run is the run without its trials and without results computed from them. It contains
// the number of trials.
func (s Shape) Run() result.Run {
	run := result.Run{
		Schema: result.Schema, ID: fmt.Sprintf("5y%06x", s.Seed), Status: result.RunComplete, Seed: s.Seed, Profile: "standard",
		Started: start(), Finished: start().Add(time.Duration(s.Trials()) * 2 * time.Second),
		Tare: result.Build{Version: "test"},
		Hosts: []result.Host{
			{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "Linux 6.18.44 x86_64"}, {Name: "cpus", Value: "2"}}},
			{Name: "b", Facts: []result.Fact{{Name: "kernel", Value: "Linux 6.18.44 x86_64"}, {Name: "cpus", Value: "2"}}},
		},
		Warnings: []result.Warning{{Code: string(warning.SharedKernel), Scope: "run", Text: "synthetic: its values are random, not measured"}},
	}
	for i := range s.Modes {
		m := result.Mode{ID: modeName(i), Title: "A synthetic mode", Status: result.ModeMeasured, Topology: topology(i)}
		if i > 0 {
			m.Baseline = modeName(0)
		}
		run.Modes = append(run.Modes, m)
	}
	for t := range s.Each() {
		run.Trials = tally(run.Trials, t.Status)
	}
	return run
}

func modeName(i int) string {
	if i == 0 {
		return "host"
	}
	return fmt.Sprintf("netns/m%d", i)
}

func tally(t result.Tally, status result.TrialStatus) result.Tally {
	switch status {
	case result.TrialOK:
		t.OK++
	case result.TrialInvalid:
		t.Invalid++
	default:
		t.Failed++
	}
	return t
}

// topology has more nodes for later modes, up to those of a long path.
func topology(i int) *result.Topology {
	i = min(i, 20)
	out := &result.Topology{}
	for n := range 3 + i {
		host, kind := "a", "veth"
		if n > (2+i)/2 {
			host = "b"
		}
		if n == 0 || n == 2+i {
			kind = "process"
		}
		node := result.Node{ID: fmt.Sprintf("n%d", n), Kind: kind, Host: host, Label: fmt.Sprintf("%s %d", kind, n), Facts: []result.Fact{{Name: "mtu", Value: "1500"}}}
		if n > 0 {
			out.Edges = append(out.Edges, result.Edge{From: fmt.Sprintf("n%d", n-1), To: node.ID})
		}
		out.Nodes = append(out.Nodes, node)
	}
	return out
}

// Each returns the trials one by one, in the order in which they ran. One in 500 is
// invalid and one in 2000 failed.
func (s Shape) Each() func(func(result.Trial) bool) {
	return func(yield func(result.Trial) bool) {
		rnd := rand.New(rand.NewPCG(s.Seed, 1))
		seq := 0
		for block := 1; block <= s.Blocks; block++ {
			for _, w := range Workloads() {
				for _, m := range rnd.Perm(s.Modes) {
					seq++
					if !yield(s.trial(rnd, seq, block, m, w)) {
						return
					}
				}
			}
		}
	}
}

// trial returns a trial; each mode is 8 % worse than the previous one.
func (s Shape) trial(rnd *rand.Rand, seq, block, mode int, workload string) result.Trial {
	worse := math.Pow(0.92, float64(mode)) * (1 + 0.03*rnd.NormFloat64())
	cpu := 1
	t := result.Trial{
		Schema: result.TrialSchema, Seq: seq, Block: block, Mode: modeName(mode), Workload: workload, Attempt: 1, Status: result.TrialOK,
		Started: start().Add(time.Duration(seq) * 2 * time.Second), Settle: 0.3, Elapsed: 1.7, Traffic: 1.65, Warmup: 0.3, Window: 1.25, Turns: s.Modes,
		Client:   &result.End{CPU: &cpu, Congestion: "cubic", SendBuffer: 2 << 20, ReceiveBuffer: 2 << 20, MSS: 1448, Sent: 99483385856},
		Server:   &result.End{CPU: &cpu, Congestion: "cubic", SendBuffer: 2 << 20, ReceiveBuffer: 2 << 20, MSS: 1448, Received: 99483385856},
		Counters: map[string]uint64{"a/eth0.rx_bytes": 100212542, "a/eth0.tx_bytes": 99633768670, "b/eth0.rx_bytes": 99633768670, "b/eth0.tx_bytes": 100212542, "a/lo.rx_bytes": 0, "b/lo.rx_bytes": 0},
		Machine: map[string]float64{"cpu_busy": 1.9591 * worse, "cpu_idle": 0.827, "cpu_irq": 0, "cpu_softirq": 0.557, "cpu_steal": 0.04, "cpu_system": 1.377, "cpu_time": 1.695, "cpu_user": 0.127,
			"memory_available": 24432603136, "pressure_cpu": 0.42, "others_cpu": 0.034},
		Metrics: figures(workload, worse, rnd),
	}
	switch {
	case seq%2000 == 1999:
		t.Status, t.Reason, t.Metrics = result.TrialFailed, "dial 198.18.0.2:40001: i/o timeout", nil
	case seq%500 == 499:
		t.Status, t.Reason = result.TrialInvalid, "the hypervisor took 4.1 % of a CPU, more than 2 %"
	}
	t.Distributions = distributions(t.Metrics)
	if s.Series > 0 && t.Status == result.TrialOK {
		of := result.Series{Metric: primary(workload), Interval: 0.1}
		for range s.Series {
			of.Values = append(of.Values, math.Round(t.Metrics[of.Metric]*(1+0.1*rnd.NormFloat64())))
		}
		t.Series = &of
	}
	return t
}

func primary(workload string) string {
	return map[string]string{"tcp_stream": "goodput", "tcp_rr": "transaction_rate", "tcp_crr": "connection_rate", "udp_stream": "goodput"}[workload]
}

// distributions match the percentiles of a trial: a body up to the 99th percentile, and a
// tail that falls by a factor of ten for every doubling.
func distributions(metrics map[string]float64) []result.Distribution {
	var out []result.Distribution
	for _, of := range []string{"rtt", "connect"} {
		p50, known := metrics[of+"_p50"]
		if !known {
			continue
		}
		p99, durations := metrics[of+"_p99"], map[float64]int64{}
		for i := range 40 { // each 2.475 % of all
			durations[p50*0.6+(p99-p50*0.6)*math.Pow(float64(i+1)/40, 4)] += 990
		}
		for i, n := 0, 360.0; i < 25; i, n = i+1, n*0.75 {
			durations[p99*math.Exp2(float64(i)/8)] += int64(n) + 1
		}
		if d := result.Distribute(of, durations); d != nil {
			out = append(out, *d)
		}
	}
	return out
}

// figures are the metrics of a trial.
func figures(workload string, worse float64, rnd *rand.Rand) map[string]float64 {
	near := func(v, spread float64) float64 { return v * math.Exp(spread*rnd.NormFloat64()) }
	switch workload {
	case "tcp_stream":
		return map[string]float64{"goodput": 40e9 * worse, "retransmits": math.Round(near(110, 0.3)), result.CPUCost: near(0.024/worse, 0.02), result.CPUMachine: near(1.03, 0.01)}
	case "tcp_rr":
		p50 := near(22e-6/worse, 0.02)
		return map[string]float64{"transaction_rate": 41e3 * worse, "rtt_p50": p50, "rtt_p99": p50 * near(2.1, 0.1), "rtt_p999": p50 * near(4, 0.2), result.CPUCostTransactions: near(0.03/worse, 0.02), result.CPUMachine: near(1.03, 0.01)}
	case "tcp_crr":
		p50 := near(60e-6/worse, 0.02)
		return map[string]float64{"connection_rate": 9e3 * worse, "connect_p50": p50, "connect_p99": p50 * near(2.1, 0.1), result.CPUCostConnections: near(0.1/worse, 0.02), result.CPUMachine: near(1.1, 0.01)}
	}
	return map[string]float64{"goodput": 3e9 * worse, "loss_ratio": max(0, near(0.001, 0.5)-0.0008), result.CPUCost: near(0.2/worse, 0.02), result.CPUMachine: near(1.5, 0.01)}
}
