package traffic

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/result"
	"tare/internal/study"
)

// udpSearch looks for the highest rates whose loss keeps to given goals. Each of its
// steps is udp_stream at one packet rate, with flows of its own; which loads to try
// is for whoever drives the search.
type udpSearch struct{ stream udpStream } // no embedding: it cannot be driven in slices

func (w udpSearch) Spec() Spec {
	const second = study.Duration(time.Second)
	return Spec{Title: "UDP rate search", MadeOf: "udp_stream", Datagrams: true, WorkloadSpec: study.WorkloadSpec{
		Kind:   "udp_search",
		Metric: ThroughputMetric(0, false),
		Params: []string{"loss_goals", "goal", "exceed_ratio", "step", "step_sum", "precision", "pause", "min_rate", "max_rate", "max_search",
			"flows", "payload_size", "burst", "offload", "fragment", "direction", "family", "send_buffer", "receive_buffer", "placement", "warmup"},
		Defaults: study.Workload{
			LossGoals: study.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: study.PortionOf(0.5), Pause: study.WaitOf(300 * time.Millisecond),
			MinRate: 1e6, MaxRate: 10e9,
			Flows: 1, PayloadSize: 1400, Burst: 64, Offload: study.Off, Fragment: study.Off, Direction: study.Forward,
			Family: study.IPv4, SendBuffer: study.Buffer(4 << 20), ReceiveBuffer: study.Buffer(4 << 20), Placement: study.TwoCores,
		},
		Profiles: map[string]study.Workload{
			study.Quick:    {Step: second / 2, StepSum: second * 3 / 2, Precision: 0.02, MaxSearch: 25 * second, Times: 1},
			study.Standard: {Step: second, StepSum: 5 * second, Precision: 0.01, MaxSearch: 90 * second, Every: 2, Times: 3},
			study.Paper:    {Step: second, StepSum: 21 * second, Precision: 0.005, MaxSearch: 600 * second, Goal: study.Beside},
		},
		Goals: map[string]study.Workload{
			study.Strict: {ExceedRatio: study.PortionOf(0)},
			study.RFC2544: {ExceedRatio: study.PortionOf(0), LossGoals: study.LossGoals{0}, Step: 60 * second, StepSum: 60 * second,
				Precision: 0.01, MaxSearch: 3600 * second},
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: study.Duration(50 * time.Millisecond)},
			study.Standard: {Warmup: study.Duration(50 * time.Millisecond)},
			study.Paper:    {Warmup: study.Duration(100 * time.Millisecond)},
		},
	}}
}

func (w udpSearch) Listen(p Params) (Server, error) { return w.stream.Listen(p) }

func (w udpSearch) Dial(ctx context.Context, p Params, peer Peer) (Report, error) {
	return w.stream.Dial(ctx, p, peer)
}

// Metrics are those of udp_stream, of one step or of steps together.
func (w udpSearch) Metrics(p Params, client, server Report) (map[string]float64, *result.Series) {
	return w.stream.Metrics(p, client, server)
}

// ThroughputMetric names the figure of a search at a loss goal: the goal in percent,
// and whether not one step may exceed it: throughput_0, throughput_0_5,
// throughput_1_strict.
func ThroughputMetric(loss float64, strict bool) string {
	percent := strconv.FormatFloat(math.Round(loss*1e8)/1e6, 'f', -1, 64)
	name := "throughput_" + strings.ReplaceAll(percent, ".", "_")
	if strict {
		name += "_strict"
	}
	return name
}
