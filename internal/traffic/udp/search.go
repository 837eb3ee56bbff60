package udp

import (
	"context"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
)

// search looks for the highest rates whose loss keeps to given goals. Each of its
// steps is udp_stream at one packet rate, with flows of its own; which loads to try
// is for whoever drives the search.
type search struct{ stream stream } // no embedding: it cannot be driven in slices

func (w search) Spec() traffic.Spec {
	const second = study.Duration(time.Second)
	return traffic.Spec{Title: "UDP rate search", MadeOf: "udp_stream", Datagrams: true, WorkloadSpec: study.WorkloadSpec{
		Kind:   "udp_search",
		Metric: traffic.ThroughputMetric(0, false),
		Params: []string{"loss_goals", "goal", "exceed_ratio", "step", "step_sum", "precision", "pause", "min_rate", "max_rate", "max_search",
			"flows", "payload_size", "burst", "offload", "fragment", "direction", "family", "send_buffer", "receive_buffer", "placement", "warmup"},
		Defaults: study.Workload{
			LossGoals: study.LossGoals{0, 0.01}, Goal: study.Median, ExceedRatio: 0.5, Pause: study.Duration(300 * time.Millisecond),
			MinRate: 1e6, MaxRate: 10e9,
			Flows: 1, PayloadSize: 1400, Burst: 64, Offload: study.Off, Fragment: study.Off, Direction: study.Forward,
			Family: study.IPv4, SendBuffer: 4 << 20, ReceiveBuffer: 4 << 20, Placement: study.TwoCores,
		},
		Profiles: map[string]study.Workload{
			study.Quick:    {Step: second / 2, StepSum: second * 3 / 2, Precision: 0.02, MaxSearch: 25 * second, Times: 1},
			study.Standard: {Step: second, StepSum: 5 * second, Precision: 0.01, MaxSearch: 90 * second, Every: 2, Times: 3},
			study.Paper:    {Step: second, StepSum: 21 * second, Precision: 0.005, MaxSearch: 600 * second, Goal: study.Beside},
		},
		Goals: map[string]study.Workload{
			study.Strict: {ExceedRatio: study.NoPortion},
			study.RFC2544: {ExceedRatio: study.NoPortion, LossGoals: study.LossGoals{0}, Step: 60 * second, StepSum: 60 * second,
				Precision: 0.01, MaxSearch: 3600 * second},
		},
		Lengths: map[string]study.Length{
			study.Quick:    {Warmup: study.Duration(50 * time.Millisecond)},
			study.Standard: {Warmup: study.Duration(50 * time.Millisecond)},
			study.Paper:    {Warmup: study.Duration(100 * time.Millisecond)},
		},
	}}
}

func (w search) Listen(p traffic.Params) (traffic.Server, error) { return w.stream.Listen(p) }

func (w search) Dial(ctx context.Context, p traffic.Params, peer traffic.Peer) (traffic.Report, error) {
	return w.stream.Dial(ctx, p, peer)
}

// Metrics are those of udp_stream, of one step or of steps together.
func (w search) Metrics(p traffic.Params, client, server traffic.Report) (map[string]float64, *result.Series) {
	return w.stream.Metrics(p, client, server)
}
