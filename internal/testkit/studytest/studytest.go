// Package studytest provides a catalog for tests of studies.
package studytest

import (
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
)

// Catalog returns a catalog similar to the real one.
func Catalog() study.Catalog {
	yes, both := true, study.Ends{Client: true, Server: true}
	length := func(warmup, duration time.Duration) study.Length {
		return study.Length{Warmup: quantity.Duration(warmup), Duration: quantity.Duration(duration)}
	}
	return study.Catalog{
		Modes: []study.Offer{
			{ID: "host"},
			{ID: "host-local"},
			{ID: "netns/published", Baseline: "host"},
			{ID: "netns/bridge", Baseline: "host"},
			{ID: "netns/macvlan", Baseline: "host"},
			{ID: "netns/vxlan", Baseline: "host", MTU: true, Headers: 50, With: []study.SettingSpec{{Name: "bridge", Values: "off", Valid: func(v string) bool { return v == study.Off }}}},
			{ID: "netns/ipvlan", Baseline: "host"},
			{ID: "netns/colocated", Baseline: "host-local"},
			{ID: "docker/bridge", Baseline: "host", Limits: both},
			{ID: "docker/overlay", Baseline: "host", Limits: both},
			{ID: "docker/network:NAME", Baseline: "host", Limits: both},
			{ID: "docker/driver:NAME", Baseline: "host", Limits: both, Options: true},
			{ID: "docker/published", Baseline: "host", Limits: study.Ends{Server: true}},
			{ID: "vm/virtio", Baseline: "host-local"},
		},
		Metric: func(name string) (string, bool) {
			unit, known := map[string]string{"goodput": "bit/s", "loss_ratio": "ratio", "rtt_p50": "s", "transaction_rate": "1/s"}[name]
			return unit, known
		},
		Lacks: func(tool string, w study.Workload) []study.Problem {
			if w.Scheduling == "" {
				return nil
			}
			return []study.Problem{{Path: "scheduling", Text: tool + " has none; remove scheduling"}}
		},
		Workloads: []study.WorkloadSpec{{
			Kind:   "tcp_stream",
			Metric: "goodput",
			Params: []string{
				"streams", "write_size", "no_delay", "direction", "family", "congestion_control",
				"send_buffer", "receive_buffer", "placement", "warmup", "duration",
			},
			Defaults: study.Workload{
				Streams: 1, WriteSize: 128 << 10, NoDelay: &yes, Direction: study.Forward, Family: study.IPv4,
				Congestion: "cubic", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Placement: study.TwoCores,
			},
			Lengths: map[string]study.Length{
				study.Quick:    length(500*time.Millisecond, 1500*time.Millisecond),
				study.Standard: length(time.Second, 4*time.Second),
				study.Paper:    length(time.Minute, time.Minute),
			},
		}, {
			Kind:   "tcp_rr",
			Metric: "transaction_rate",
			Params: []string{
				"family", "congestion_control", "send_buffer", "receive_buffer", "placement", "warmup", "duration",
			},
			Defaults: study.Workload{
				Family: study.IPv4, Congestion: "cubic", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
				Placement: study.OneCore,
			},
			Lengths: map[string]study.Length{
				study.Quick:    length(0, 500*time.Millisecond), // an empty warm-up, on purpose
				study.Standard: length(300*time.Millisecond, time.Second),
				study.Paper:    length(5*time.Second, 30*time.Second),
			},
		}, {
			Kind:   "udp_stream",
			Params: []string{"flows", "payload_size", "rate", "burst", "offload", "fragment", "direction", "tool", "pairs", "slice", "warmup", "duration"},
			Optional: []string{
				"packet_rate", "wait", "scheduling", "threads", "verify_with",
			},
			ReverseWhole: true,
			Tools:        []string{"iperf3", "iperf2"},
			Defaults: study.Workload{
				Flows: 1, PayloadSize: 1400, Rate: quantity.Load(1e9), Burst: 16, Offload: study.Off, Fragment: study.Off,
				Direction: study.Forward, Tool: study.BuiltIn, Pairs: 1,
			},
			Lengths: map[string]study.Length{
				study.Quick:    {Warmup: quantity.Duration(100 * time.Millisecond), Duration: quantity.Duration(time.Second), Slice: quantity.Duration(125 * time.Millisecond)},
				study.Standard: length(time.Second, 4*time.Second),
				study.Paper:    length(time.Second, 30*time.Second),
			},
		}},
	}
}

// Direction returns the direction of a payload that the server sends if reverse is set, and the
// client otherwise.
func Direction(reverse bool) string { return when(reverse, study.Reverse, study.Forward) }

// Switch returns on or off.
func Switch(on bool) string { return when(on, study.On, study.Off) }

func when(yes bool, this, that string) string {
	if yes {
		return this
	}
	return that
}
