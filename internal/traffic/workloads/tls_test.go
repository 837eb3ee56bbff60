package workloads

import (
	"strings"
	"testing"

	"tare/internal/study"
)

// What workloads of HTTP may say of TLS, and how many connections they have. Other workloads take no key of it.
func TestTLSKeys(t *testing.T) {
	var cat study.Catalog
	for _, w := range All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	for want, all := range map[string][]study.Workload{
		"": {{TLS: study.On}, {TLS: study.Off, Flows: 65}, {TLS: study.On, Flows: 64, Resumption: study.Off}, {TLS: study.On, KeepAlive: study.Off, Resumption: study.On}},
		"flows: 65 flows with tls, which has at most 64: each needs a thread; use fewer or remove tls":                                 {{TLS: study.On, Flows: 65}},
		"flows: 100 flows with tls, which has at most 64: each needs a thread; use fewer or remove tls":                                {{TLS: study.On, FlowCounts: study.Counts{1, 100}}},
		"resumption: resumption is on, but there is no TLS session without tls: on; set it or remove resumption":                       {{Resumption: study.On}, {TLS: study.Off, KeepAlive: study.Off, Resumption: study.On}},
		"resumption: resumption is on, but each flow has one connection and resumes nothing; set keep_alive: off or remove resumption": {{TLS: study.On, Resumption: study.On}, {TLS: study.On, KeepAlive: study.On, Resumption: study.On}},
		"tls: tcp_rr does not take tls": {{Kind: "tcp_rr", TLS: study.On}},
		"flows: flows is 65; want at most 64 for http2: each needs threads at both endpoints": {{Kind: "http2", Flows: 65}, {Kind: "http2", FlowCounts: study.Counts{1, 65}}},
		"keep_alive: grpc does not take keep_alive":                                           {{Kind: "grpc", KeepAlive: study.On}},
		"resumption: http2 does not take resumption":                                          {{Kind: "http2", TLS: study.On, Resumption: study.On}},
	} {
		for _, w := range all {
			if w.Kind == "" {
				w.Kind = "http"
			}
			var got []string
			for _, p := range study.Check(study.Study{Workloads: []study.Workload{w}}, cat, nil) {
				got = append(got, strings.TrimPrefix(p.Path, "workloads[0].")+": "+p.Text)
			}
			if text := strings.Join(got, "\n"); !strings.HasPrefix(text, want) || want == "" && text != "" {
				t.Errorf("%+v: %q, want %q", w, text, want)
			}
		}
	}
}
