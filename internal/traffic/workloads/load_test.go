package workloads

import (
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// Exchanges over TCP can have a load beside them. Their trials are whole then, with a warm-up in which it fills the path.
func TestWithLoadKeys(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads = nil
	for _, w := range All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	for _, kind := range []string{"tcp_rr", "tcp_crr", "http", "http2", "grpc"} {
		for _, profile := range study.Profiles() {
			s := must.Get(study.Resolve(study.Study{Profile: profile, Modes: study.ModesOf("host"), Workloads: []study.Workload{{Kind: kind, WithLoad: study.TCPLoad}}}, cat))(t)
			if w := s.Workloads[0]; w.Slice < w.Duration || w.Warmup.Std() < 500*time.Millisecond || w.Duration < study.WholeDuration {
				t.Errorf("%s in %s: slices of %s, a warm-up of %s and %s timed", kind, profile, w.Slice, w.Warmup, w.Duration)
			}
		}
	}
	for want, w := range map[string]study.Workload{
		"with_load: tcp_stream does not take with_load":                                                         {Kind: "tcp_stream", WithLoad: study.TCPLoad},
		"with_load: udp_rr does not take with_load":                                                             {Kind: "udp_rr", WithLoad: study.TCPLoad},
		"with_load: with_load is \"udp_stream\"; want tcp_stream":                                               {Kind: "tcp_rr", WithLoad: "udp_stream"},
		"slice: slice is 20ms, but the load beside it needs longer than a slice to fill the path; remove slice": {Kind: "tcp_rr", WithLoad: study.TCPLoad, Slice: quantity.Duration(20 * time.Millisecond), Duration: quantity.Duration(time.Second)},
	} {
		var got []string
		for _, p := range study.Check(study.Study{Workloads: []study.Workload{w}}, cat, nil) {
			got = append(got, strings.TrimPrefix(p.Path, "workloads[0].")+": "+p.Text)
		}
		if text := strings.Join(got, "\n"); !strings.HasPrefix(text, want) {
			t.Errorf("%+v: %q, want %q", w, text, want)
		}
	}
}
