package workloads

import (
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// Requests over connections that stay can be those of several clients of one server. Slices and trials are longer with many clients, as with many
// pairs, and one client is as none said.
func TestFanInKeys(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads = nil
	for _, w := range All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	for _, kind := range []string{"tcp_rr", "http", "http2", "grpc"} {
		of := func(n int) study.Workload {
			w := study.Workload{Kind: kind, FanIn: n}
			return must.Get(study.Resolve(study.Study{Profile: study.Standard, Modes: study.ModesOf("host"), Workloads: []study.Workload{w}}, cat))(t).Workloads[0]
		}
		must.Equal(t, of(0), of(1))
		if w := of(50); w.Slice.Std() < 100*time.Millisecond || w.Duration.Std() < 5*time.Second || w.Endpoints() != 50 || w.Clients() != 50 {
			t.Errorf("%s: slices of %s, %s timed, %d pairs", kind, w.Slice, w.Duration, w.Endpoints())
		}
	}
	for want, w := range map[string]study.Workload{
		"fan_in: tcp_stream does not take fan_in": {Kind: "tcp_stream", FanIn: 2},
		"fan_in: tcp_crr does not take fan_in":    {Kind: "tcp_crr", FanIn: 2},
		"fan_in: udp_rr does not take fan_in":     {Kind: "udp_rr", FanIn: 2},
		"fan_in: fan_in is 300; want":             {Kind: "tcp_rr", FanIn: 300},
		"fan_in: fan_in is 2, but there are 3 pairs, each with a server of its own; remove fan_in or pairs":      {Kind: "tcp_rr", FanIn: 2, Pairs: 3},
		"fan_in: fan_in is 2, but there is a load beside it; remove fan_in or with_load":                         {Kind: "tcp_rr", FanIn: 2, WithLoad: study.TCPLoad},
		"fan_in: fan_in is 2, but an event is measured with one client; remove fan_in or event":                  {Kind: "tcp_rr", FanIn: 2, Event: "link_down", TransactionRate: 1000},
		"fan_in: fan_in is 33, but the server has at most 64 flows here, and each client has 2; use fewer":       {Kind: "http", FanIn: 33, Flows: 2, TLS: study.On},
		"fan_in: fan_in is 100, but the server has at most 64 flows here, and each client has 1; use fewer":      {Kind: "grpc", FanIn: 100},
		"fan_in: fan_in is 200, but the server has at most 10000 flows here, and each client has 100; use fewer": {Kind: "tcp_rr", FanIn: 200, FlowCounts: study.Counts{1, 100}},
	} {
		var got []string
		for _, p := range study.Check(study.Study{Workloads: []study.Workload{w}}, cat, nil) {
			got = append(got, strings.TrimPrefix(p.Path, "workloads[0].")+": "+p.Text)
		}
		if text := strings.Join(got, "\n"); !strings.Contains(text, want) {
			t.Errorf("%+v: %q, want %q", w, text, want)
		}
	}
}
