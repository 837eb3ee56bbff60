package study_test

import (
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// TestTogether holds what the keys of one workload may say beside each other.
func TestTogether(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{"direction: both", `direction is "both", which udp_stream does not support`},
		{"tool: ntttcp", `tool is "ntttcp", which cannot generate udp_stream; want tare, iperf3 or iperf2`},
		{"verify_with: tare", `verify_with is "tare"; want iperf3, iperf2, ntttcp, wrk or h2load`},
		{"{tool: iperf3, verify_with: iperf3}", "want two different tools"},
		{"{rate: 1Gbit/s, packet_rate: 1000}", "remove one of them"},
		{"{flows: 2, threads: 3}", "threads is 3 for 2 streams"},
		{"{tool: iperf3, slice: 20ms, duration: 1s}", "iperf3 cannot run a trial in slices; remove slice"},
		{"{direction: reverse, slice: 20ms, duration: 1s}", "udp_stream in reverse cannot run in slices"},
		{"wait: busy", `s.yaml:4: wait is "busy"; want sleep or spin`},
		{"scheduling: rr", `s.yaml:4: scheduling is "rr"; want other or fifo`},
		{"{rate: unlimited, wait: spin}", `s.yaml:5: wait is "spin", but udp_stream has no schedule without a rate; set it or remove wait`},
		{"{tool: iperf3, scheduling: fifo}", `s.yaml:5: scheduling is "fifo", and tool is "iperf3": iperf3 has none; remove scheduling`},
		{"{verify_with: iperf2, scheduling: fifo}", `s.yaml:5: scheduling is "fifo", and verify_with is "iperf2": iperf2 has none; remove scheduling`},
		{"{wait: spin, scheduling: fifo}", `s.yaml:5: scheduling is "fifo" with wait "spin": such a thread never leaves its CPU`},
		{"rate: fast", "want unlimited, or a rate"},
		{"rate: 500Gbit/s", "want unlimited, or a rate of 1Mbit/s to 400Gbit/s"},
		{"payload_size: 10", "payload_size is 10; want 36 to 65507"},
		{"flows: 0", "flows is 0"},
		{"flows: 100000", "flows is 100000; want a whole number from 1 to 1000"},
	} {
		text := "modes: [host]\nworkloads:\n  - workload: udp_stream\n"
		for part := range strings.SplitSeq(strings.Trim(tt.lines, "{}"), ", ") {
			text += "    " + part + "\n"
		}
		_, err := studyfile.Decode("s.yaml", []byte(text), studytest.Catalog())
		must.Fail(t, err, tt.want)
	}
}

// A mix of sizes is checked, and replaces the one size, also when a resolved study is read again.
func TestMixTogether(t *testing.T) {
	c := studytest.Catalog()
	c.Workloads = append(c.Workloads, study.WorkloadSpec{Kind: "http", Params: []string{"response_size"}, Optional: []string{"response_mix"}, Defaults: study.Workload{ResponseSize: 1 << 10}, Metric: "transaction_rate"})
	decode := func(lines string) (study.Study, error) {
		return studyfile.Decode("s.yaml", []byte("modes: [host]\nworkloads:\n  - workload: http\n    response_mix: "+lines+"\n"), c)
	}
	for lines, want := range map[string]string{
		"9x1KiB,1x1MiB\n    response_size: 1KiB": "s.yaml:4: response_mix and response_size both set the size of responses; remove one of them",
		"1x17MiB,1x1":                            `s.yaml:4: response_mix is "1x17MiB,1x1": "1x17MiB" has no size from 1 to 16MiB`,
		"9x1KiB":                                 `response_mix is "9x1KiB"; want weights and sizes, such as 9x1KiB,1x1MiB`,
		"12":                                     "response_mix",
	} {
		_, err := decode(lines)
		must.FailFor(t, lines, err, want)
	}
	s := must.Get(study.Resolve(must.Get(decode("9x1KiB,1x1MiB"))(t), c))(t)
	again := must.Get(study.Resolve(must.Get(studyfile.Decode("study.yaml", []byte(marshal(t, s)), c))(t), c))(t)
	must.Equal(t, []any{quantity.Size(0), "9x1KiB,1x1MiB"}, []any{again.Workloads[0].ResponseSize, again.Workloads[0].ResponseMix})
}

// A pipeline has no schedule, and bounds what is in progress. Only a server that streams answers with several messages.
func TestPipelineTogether(t *testing.T) {
	c := studytest.Catalog()
	c.Workloads = append(c.Workloads, study.WorkloadSpec{Kind: "piped", Params: []string{"request_size"}, Optional: []string{"pipeline", "transaction_rate", "streaming", "messages"}, Defaults: study.Workload{RequestSize: 1}, Metric: "transaction_rate"})
	for lines, want := range map[string]string{
		"pipeline: 16":                          "",
		"streaming: server, messages: 5":        "",
		"streaming: bidi, messages: 5":          "s.yaml:3: messages is 5, but each call is answered with one without streaming: server; set it or remove messages",
		"streaming: both":                       "want off, bidi or server",
		"pipeline: 1, transaction_rate: 10":     "",
		"pipeline: 0":                           "s.yaml:3: pipeline is 0",
		"pipeline: 1001":                        "want a whole number from 1 to 1000",
		"pipeline: 2, transaction_rate: 10":     "s.yaml:3: pipeline is 2, which sends a request when a response has arrived, and transaction_rate sends it when it is due; remove one of them",
		"pipeline: 1000, request_size: 2097152": "s.yaml:3: pipeline is 1000 with messages of 2MiB: more than 1GiB in progress",
	} {
		_, err := studyfile.Decode("s.yaml", []byte("modes: [host]\nworkloads:\n  - {workload: piped, "+lines+"}\n"), c)
		if want == "" {
			must.Do(t, err)
			continue
		}
		must.FailFor(t, lines, err, want)
	}
}

// A tunnel that the lab's underlay cannot carry is known before anything is built.
func TestTunnelFits(t *testing.T) {
	for text, want := range map[string]string{
		"modes: [{mode: netns/vxlan, mtu: 9000}]":                                        "s.yaml:1: mtu is 9000 inside netns/vxlan, which adds 50 bytes, but that of the underlay is 1500; want at most 1450",
		"lab: {mtu: 9000}\nmodes: [{mode: netns/vxlan, mtu: 8950}]":                      "",
		"modes: [{mode: netns/vxlan, mtu: 8000, lab: {mtu: 8049}}]":                      "want at most 7999",
		"modes: [{mode: netns/vxlan, mtu: 1450}, {mode: netns/vxlan, id: b, mtu: 1451}]": "mtu is 1451",
	} {
		_, err := studyfile.Decode("s.yaml", []byte(text+"\nworkloads: [tcp_rr]\n"), studytest.Catalog())
		if want == "" {
			must.Do(t, err)
			continue
		}
		must.FailFor(t, text, err, want)
	}
}

// TestWhole: what cannot take turns is driven at once, and a rate in packets
// stands in for one in bits, also when a resolved study is read again.
func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		w     study.Workload
		slice quantity.Duration
		rate  quantity.Load
	}{
		{study.Workload{}, quantity.Duration(125e6), quantity.Load(1e9)},
		{study.Workload{Direction: study.Reverse}, quantity.AtOnce, quantity.Load(1e9)},
		{study.Workload{Tool: "iperf3"}, quantity.AtOnce, quantity.Load(1e9)},
		{study.Workload{PacketRate: 1000}, quantity.Duration(125e6), 0},
		{study.Workload{Rate: quantity.Unlimited}, quantity.Duration(125e6), quantity.Unlimited},
	} {
		tt.w.Kind = "udp_stream"
		s := must.Get(study.Resolve(study.Study{Modes: study.ModesOf("host"), Workloads: []study.Workload{tt.w}}, studytest.Catalog()))(t)
		text := marshal(t, s)
		again, err := studyfile.Decode("study.yaml", []byte(text), studytest.Catalog())
		if err == nil {
			again, err = study.Resolve(again, studytest.Catalog())
		}
		must.Do(must.Named(t, text), err)
		for _, got := range []study.Workload{s.Workloads[0], again.Workloads[0]} {
			must.True(t, got.Slice == tt.slice && got.Rate == tt.rate, "%+v: slice %s and rate %s, want %s and %s", tt.w, got.Slice, got.Rate, tt.slice, tt.rate)
		}
	}
}

func TestSettings(t *testing.T) {
	yes := true
	got := study.Workload{Kind: "udp_stream", Rate: quantity.Unlimited, PayloadSize: 1400, NoDelay: &yes, ReceiveBuffer: quantity.AutoBuffer()}.Settings()
	want := []study.Setting{
		{Key: "workload", Value: "udp_stream"}, {Key: "payload_size", Value: "1400"}, {Key: "rate", Value: "unlimited"},
		{Key: "no_delay", Value: "true"}, {Key: "receive_buffer", Value: "auto"},
	}
	must.Equal(t, want, got)
}
